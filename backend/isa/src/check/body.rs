//! What the opcodes of one struct have in common: engine rules over all operands, and the structs
//! with a single opcode.

use super::address::Operand;
use super::checker::{Checker, Under};
use super::immediate::{Immediate, Scalar};
use crate::dtype::Dtype;
use crate::field::Field;
use crate::layout::{LoadMaskSelect, TensorScalarSelect, load_mask_select, tensor_scalar_select};
use crate::opcode::Opcode;
use crate::rule;
use crate::target::{Engine, Generation};

impl Checker<'_> {
    /// ENG-1 to ENG-3 and the 64-bit part of GEN-1. `dtypes` are the codes of the word's dtype
    /// fields; `own` is the opcode's engine rule that names SBUF, if it has one.
    #[inline]
    pub fn engines(
        &mut self,
        operands: &[&Operand],
        dtypes: &[(u8, &'static Field)],
        own: Option<Under>,
    ) {
        let wide = dtypes
            .iter()
            .find(|(code, _)| Dtype::from_code(*code).is_some_and(Dtype::is_64_bit))
            .map(|&(_, field)| field);
        let has_own_rule =
            matches!(self.opcode, Some(Opcode::TensorTensorArithOp | Opcode::TensorTensorBitvecOp));
        if let Some(field) = wide
            && self.generation == Generation::Sunda
            && !has_own_rule
        {
            self.fail(Under::new(&rule::GEN_1), field, || "64-bit types need cayman".into());
        }
        self.engine_has_opcode();
        let Some(engine) = self.engine else { return };
        // TB-7: these read PSUM although they run on POOL.
        let reaches_psum = matches!(
            self.opcode,
            Some(
                Opcode::TensorTensorAddBf16
                    | Opcode::TensorTensorMultBf16
                    | Opcode::TensorTensorSubtractBf16
            )
        );
        if engine == Engine::Pool && !reaches_psum {
            for operand in operands.iter().filter(|operand| operand.is_in_psum()) {
                let allowed = || "an address in SBUF".into();
                match own {
                    Some(under) => {
                        self.fail_inside(under, &[&rule::ENG_2], operand.field, allowed);
                    }
                    None => self.fail(Under::new(&rule::ENG_2), operand.field, allowed),
                }
            }
        }
        if let Some(field) = wide
            && engine != Engine::Pool
        {
            self.fail(Under::new(&rule::ENG_3), field, || "at most 32 bits, or POOL".into());
        }
    }

    /// 0x98.
    pub fn tensor_scalar_select(&mut self, b: &TensorScalarSelect) {
        use tensor_scalar_select as f;
        let generation = self.generation;
        let src =
            Operand::new(&b.src0_mem_pattern, &f::src0_mem_pattern, b.dtype, false, generation);
        let dst = Operand::new(&b.dst_mem_pattern, &f::dst_mem_pattern, b.dtype, true, generation);

        let dtype = self.dtype(b.dtype, Under::new(&rule::SEL_1), &f::dtype, Dtype::is_input);
        let predicate = self.dtype(
            b.pred_imm_dtype,
            Under::new(&rule::SEL_2),
            &f::pred_imm_dtype,
            |predicate| {
                predicate.is_int_datapath()
                    && dtype.is_none_or(|dtype| dtype.size() == predicate.size())
            },
        );
        self.require(b.reversed_pred <= 1, Under::new(&rule::SEL_3), &f::reversed_pred, "0 or 1");
        let channels =
            (1..=128).contains(&b.num_active_channels).then(|| b.num_active_channels.into());
        let imm = Immediate {
            bits: b.pred_imm,
            field: &f::pred_imm,
            source: b.pred_imm_src,
            source_field: &f::pred_imm_src,
        };
        self.immediate(imm, Scalar::Truth(predicate), channels, Under::new(&rule::SEL_4));
        let imm = Immediate {
            bits: b.src1_imm,
            field: &f::src1_imm,
            source: b.src1_imm_src,
            source_field: &f::src1_imm_src,
        };
        self.immediate(imm, Scalar::Of(dtype), channels, Under::new(&rule::SEL_5));
        let under = Under::new(&rule::SEL_6);
        let channels =
            self.channels(b.num_active_channels, &f::num_active_channels, under, &rule::CH_2);
        self.start_partition(&src, channels, under);
        self.start_partition(&dst, channels, under);
        let under = Under::new(&rule::SEL_7);
        self.tensor(&src, under, None);
        self.tensor(&dst, under, None);
        self.same_count(&src, &dst, under);
        self.gathers_into_its_quadrant(&src, &dst);
        self.reserved(&b.reserved0, &f::reserved0, Some(&rule::SEL_8));
        self.reserved(&b.reserved1, &f::reserved1, Some(&rule::SEL_8));
        let dtypes = [(b.dtype, &f::dtype), (b.pred_imm_dtype, &f::pred_imm_dtype)];
        self.engines(&[&src, &dst], &dtypes, None);
        self.overlap(&src, &dst, b.num_active_channels.into());
    }

    /// 0x69.
    pub fn load_mask_select(&mut self, b: &LoadMaskSelect) {
        use load_mask_select as f;
        let under = Under::new(&rule::MSK_1);
        self.require(b.param_ram_offset == 0, under, &f::param_ram_offset, "0");
        self.require(b.imm_ptr_select == 0, under, &f::imm_ptr_select, "0");
        let lanes_ok = b.immediate.iter().all(|&lane| lane < 64 || lane == 255);
        self.require(lanes_ok, Under::new(&rule::MSK_2), &f::immediate, "bytes below 64, or 255");
        self.reserved(&b.reserved0, &f::reserved0, None);
        self.engine_has_opcode();
    }
}
