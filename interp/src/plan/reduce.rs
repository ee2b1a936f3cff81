//! Plans of reductions and scans within a channel.

use partita_isa::address::Indirect;
use partita_isa::{AluOp, Domain, Opcode, SubDim, TensorReduce};

use crate::error::Fault;
use crate::numeric::convert::Store;
use crate::numeric::kernels::{Feed, FeedRows};
use crate::numeric::table::Fold;
use crate::numeric::{fused, selected};
use crate::rows::elementwise::{Body, Elementwise};
use crate::rows::reduce::{Outcome, Reduce};
use crate::rows::stream::Source;
use crate::walk::Walk;

use super::build::{Builder, alu, dtype, lane};
use super::{Operand, Plan, RowPlan, Staging, Work};

/// The elements of a group: the product of the reduced counts, which are the innermost; of an indirect source all
/// (IND-4).
pub(crate) fn group(body: &TensorReduce) -> Result<usize, Fault> {
    let dims = SubDim::from_code(body.op_dim).ok_or(Fault::Unsupported("op_dim"))?.dims();
    if let Some(indirect) = Indirect::of(&body.src_mem_pattern) {
        return Ok(usize::from(indirect.count));
    }
    Ok(body.src_mem_pattern.num_elem.iter().take(dims).map(|&n| usize::from(n)).product())
}

impl Builder<'_> {
    /// TensorReduce, its transposed forms, and the packed BF16 forms of SUNDA (ISA 9.5 to 9.7).
    pub fn reduce(&self, body: &TensorReduce) -> Result<Plan, Fault> {
        let channels = usize::from(body.num_active_channels);
        let (from, to) = (dtype(body.in_dtype)?, dtype(body.out_dtype)?);
        let src = self.resolver.source(&body.src_mem_pattern, from, channels)?;
        let dst = self.resolver.destination(&body.dst_mem_pattern, to, channels)?;
        let op = alu(body.op)?;
        let domain = self.domain(&[op], &[from], to);
        let (feed, feed_rows, columns): (Feed, Option<FeedRows>, Option<Fold>) = match op {
            AluOp::Crc32 => (selected::crc32(), None, None),
            _ if op.is_arg() => {
                let feed = selected::arg(op, lane(domain, from));
                (feed.ok_or(Fault::Unsupported("operation"))?, None, None)
            }
            _ => {
                let kernels = self.kernels(domain, op, from)?;
                (kernels.feed, kernels.feed_rows, Some(kernels.accumulate))
            }
        };
        let outcome = match (op, body.negated, domain) {
            (AluOp::Crc32, ..) => Outcome::Complement,
            (op, 0, _) if op.is_arg() => Outcome::Index,
            (_, 0, _) => Outcome::Value,
            (op, ..) if op.is_arg() => Outcome::NegatedIndex,
            (.., Domain::Fp32) => Outcome::NegatedFloat,
            _ => Outcome::NegatedInteger,
        };
        let (lane, store) = if op.is_arg() {
            // The index is a UINT32, whatever the width of the input.
            (4, Store::Same)
        } else {
            (lane(domain, from), self.store_to(domain, to))
        };
        let mut source = self.stream_of(domain, &src, from);
        let staging = self.staging(&src, &mut source);
        let fused = match (domain, staging) {
            (Domain::Fp32, None) => fused::feed(self.simd, op, from),
            _ => None,
        };
        if fused.is_some() {
            source = self.stream_of(Domain::Moved, &src, from);
        }
        let work = Reduce {
            source,
            dst: dst.destination(),
            first: None,
            feed: fused.unwrap_or(feed),
            feed_rows,
            columns,
            group: group(body)?,
            outcome,
            lane,
            store,
        };
        Ok(Plan::Rows(RowPlan {
            staging,
            ..self.row_plan(Work::Reduce(work), [Some(src), None], dst, channels)
        }))
    }

    /// For the transposing opcodes: the source is read from a transposed copy, as one run.
    pub fn staging(&self, src: &Operand, source: &mut Source) -> Option<Staging> {
        use Opcode::*;
        let transposed = matches!(
            self.opcode,
            TransposeTensorReduceArithOp
                | TransposeTensorReduceBitvecOp
                | TransposeTensorScalarArithOp
        );
        transposed.then(|| {
            source.walk = Walk::run(0, src.walk.len());
            Staging { walk: src.walk, width: src.width, transposed }
        })
    }

    /// TensorCumulative (ISA 9.8).
    pub fn scan(&self, body: &TensorReduce) -> Result<Plan, Fault> {
        let channels = usize::from(body.num_active_channels);
        let (from, to) = (dtype(body.in_dtype)?, dtype(body.out_dtype)?);
        let src = self.resolver.source(&body.src_mem_pattern, from, channels)?;
        let dst = self.resolver.destination(&body.dst_mem_pattern, to, channels)?;
        let op = alu(body.op)?;
        let domain = self.domain(&[op], &[from], to);
        let (scan, rows) = match op {
            AluOp::Crc32 => (selected::crc32_scan(from.size()), None),
            _ => {
                let kernels = self.kernels(domain, op, from)?;
                (kernels.scan, Some(kernels.scan_rows))
            }
        };
        let source = self.stream_of(domain, &src, from);
        let work = Elementwise {
            sources: [source; 2],
            dst: dst.destination(),
            store: self.store_to(domain, to),
            body: Body::Scan { scan, rows, group: group(body)?, lane: source.lane },
        };
        Ok(self.rows(Work::Elementwise(work), [Some(src), None], dst, channels))
    }
}
