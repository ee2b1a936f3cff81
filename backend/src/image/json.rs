//! The JSON sections.

use serde::{Deserialize, Serialize};

use crate::program::{DataBlock, Io, IoTensor, Program, read_random};

use super::FORMAT;

#[derive(Serialize, Deserialize)]
pub(super) struct Meta {
    pub format: u32,
    pub target: String,
    pub version: String,
    pub pipeline: Vec<String>,
}

impl Meta {
    pub fn of(program: &Program) -> Self {
        Self {
            format: FORMAT,
            target: program.target.to_string(),
            version: program.meta.version.clone(),
            pipeline: program.meta.pipeline.clone(),
        }
    }
}

#[derive(Serialize, Deserialize)]
pub(super) struct IoTable {
    hbm_bytes: u64,
    inputs: Vec<Tensor>,
    outputs: Vec<Tensor>,
    data: Vec<Constant>,
}

#[derive(Serialize, Deserialize)]
struct Tensor {
    name: String,
    shape: Vec<u64>,
    dtype: String,
    address: u64,
    /// As the source writes it: `uniform(-1.0, 1.0)`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    random: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct Constant {
    address: u64,
    bytes: u64,
}

impl Tensor {
    fn of(tensor: &IoTensor) -> Self {
        Self {
            name: tensor.name.clone(),
            shape: tensor.shape.clone(),
            dtype: tensor.dtype.to_string(),
            address: tensor.address,
            random: tensor.random.map(|random| random.to_string()),
        }
    }

    fn read(self) -> Result<IoTensor, String> {
        let dtype = self.dtype.parse().map_err(|error| format!("`{}`: {error}", self.name))?;
        let random = self.random.map(|text| read_random(&text, dtype)).transpose();
        let random = random.map_err(|error| format!("`{}`: {error}", self.name))?;
        Ok(IoTensor { name: self.name, shape: self.shape, dtype, address: self.address, random })
    }
}

impl IoTable {
    pub fn of(program: &Program) -> Self {
        Self {
            hbm_bytes: program.io.hbm_bytes,
            inputs: program.io.inputs.iter().map(Tensor::of).collect(),
            outputs: program.io.outputs.iter().map(Tensor::of).collect(),
            data: program
                .data
                .iter()
                .map(|block| Constant { address: block.address, bytes: block.bytes.len() as u64 })
                .collect(),
        }
    }

    /// The table, with the constants cut out of the bytes of their section.
    pub fn read(self, mut section: &[u8]) -> Result<(Io, Vec<DataBlock>), String> {
        let tensors = |list: Vec<Tensor>| {
            list.into_iter().map(Tensor::read).collect::<Result<Vec<_>, String>>()
        };
        let io = Io {
            hbm_bytes: self.hbm_bytes,
            inputs: tensors(self.inputs)?,
            outputs: tensors(self.outputs)?,
        };
        let mut data = Vec::new();
        for constant in self.data {
            let split =
                usize::try_from(constant.bytes).ok().and_then(|n| section.split_at_checked(n));
            let (bytes, rest) =
                split.ok_or("the constants listed are larger than their section")?;
            data.push(DataBlock { address: constant.address, bytes: bytes.to_vec() });
            section = rest;
        }
        if !section.is_empty() {
            return Err("bytes of the section of constants belong to no constant".to_owned());
        }
        Ok((io, data))
    }
}
