//! Every error the reader and the verifier report, in one table.

use std::fmt;

use serde::{Serialize, Serializer};

macro_rules! codes {
    ($($name:ident $id:literal $title:literal $help:literal;)*) => {
        /// What kind of error a diagnostic is. The number is stable.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Code { $($name,)* }

        impl Code {
            /// Every code, in the order of the numbers.
            pub const ALL: &'static [Code] = &[$(Code::$name,)*];

            /// The number, such as `E0301`.
            pub const fn id(self) -> &'static str {
                match self { $(Code::$name => $id,)* }
            }

            /// The error in a few words.
            pub const fn title(self) -> &'static str {
                match self { $(Code::$name => $title,)* }
            }

            /// What generally mends it.
            pub const fn help(self) -> &'static str {
                match self { $(Code::$name => $help,)* }
            }
        }
    };
}

codes! {
    Syntax "E0101" "the text is not in the language"
        "see docs/language.md for the form of each operation";
    UnknownOp "E0102" "unknown operation"
        "the operations are listed in docs/language.md";
    UnknownType "E0103" "unknown type"
        "types are `tensor<4x8xf32>` and `tile<sbuf, 4x8xf32>`";
    UnknownName "E0104" "unknown name of an operation's choice"
        "the choices of each operation are listed in docs/language.md";
    Number "E0105" "number out of range"
        "use a number that the position can hold";
    TooDeep "E0106" "brackets nested too deeply"
        "no program needs more than a few levels of brackets";
    TooLarge "E0107" "text or constant too large"
        "read large constants as inputs instead";
    Dense "E0108" "malformed `dense<…>` constant"
        "write one number for all elements, or nested lists that match the shape";

    UndefinedValue "E0201" "use of an undefined value"
        "define the value before its first use";
    DuplicateValue "E0202" "value defined twice"
        "give each value its own name";
    DuplicateFunc "E0203" "function defined twice"
        "give each function its own name";
    UseBeforeDef "E0204" "value used before its definition"
        "move the definition up";
    MissingReturn "E0205" "the function does not end in `return`"
        "end the function with `return`";
    AfterReturn "E0206" "operation after `return`"
        "remove what stands after `return`";
    ReturnCount "E0207" "wrong number of returned values"
        "return as many values as the function type says";
    ReturnType "E0208" "a returned value has another type than the function says"
        "make the types agree";

    ResultShape "E0301" "the written shape is not the one the operation gives"
        "write the shape that the operation gives";
    ResultDtype "E0302" "the written element type is not one the operation gives"
        "write the element type that the operation gives, or cast";
    OperandDtypes "E0303" "operands of different element types"
        "cast one of the operands with `tensor.cast`";
    Broadcast "E0304" "shapes do not broadcast"
        "aligned from the right, sizes must be equal or 1";
    OperandCount "E0305" "wrong number of operands"
        "give the operation as many operands as it takes";
    OperandType "E0306" "the operation does not take this type"
        "cast the operand, or use an operation for its type";
    Rank "E0307" "too many dimensions"
        "a type has at most 8 dimensions; reshape to fewer";
    ElementCount "E0308" "too many elements"
        "elements and bytes of a type must stay below 2^63";
    Dims "E0309" "dimensions out of range, repeated or missing"
        "dimensions count from 0 and may appear once";
    RoundedOperand "E0310" "`f32r` is a type of results only"
        "cast to `f32` where the value is made";
    LiteralValue "E0311" "the literal has no value in this element type"
        "write a value of the type, its bits as `0x…`, or `inf`";
    LiteralDtype "E0312" "the literal takes its type from no operand"
        "at least one operand must be a value";
    LiteralPlace "E0313" "a literal cannot stand here"
        "use a value; `tensor.constant` makes one";
    Ranges "E0314" "slice or padding out of range"
        "0 <= start <= limit <= size, and stride >= 1";
    Shapes "E0315" "operand shapes do not fit the operation"
        "see docs/language.md for what the operation takes";
    Attribute "E0316" "the attribute does not apply"
        "remove the attribute, or choose an operation that has it";
    ArgAttribute "E0317" "argument attribute does not fit the argument"
        "`uniform(a, b)` needs finite a < b, `int(a, b)` an a <= b";
    ValueKind "E0318" "a tensor where a tile belongs, or the reverse"
        "tensor operations take tensors; instructions take tiles";

    Partitions "E0401" "more partitions than the machine has"
        "a tile on the chip has at most 128 rows; split it";
    TileRef "E0402" "the instruction names no such tile"
        "name an argument or a tile made by `tile.alloc`";
    Target "E0403" "no target, or an unknown one"
        "begin the module with a line such as `target cayman`";
    Instruction "E0404" "the instruction cannot be read"
        "see the assembler's description of the instruction";

    Unsupported "E0501" "the target has no exact form of the operation"
        "choose another target or element type";
    RowTooLarge "E0502" "a row of the operation does not fit SBUF"
        "make the folded dimension shorter";
    Capacity "E0503" "the live tiles do not fit SBUF"
        "this is a fault of the tiling; please report it";
    MainMemory "E0504" "the tensors do not fit the device's main memory"
        "divide the problem, or use a smaller element type";
    ProgramTooLong "E0505" "the program would have too many instructions"
        "divide the problem: every tile has its own instructions, there are no loops";
    IllegalItem "E0601" "a word or descriptor is illegal"
        "`partita isa RULE` explains a rule; nothing else is judged before every item is legal";
    Race "E0602" "two accesses that nothing orders"
        "let the later one wait for a semaphore that the earlier one increments when complete";
    NeverWritten "E0603" "bytes are read that nothing has written"
        "write them first, by a load or a word that the reader waits for";
    Deadlock "E0604" "the queues wait for each other or for nobody"
        "signal what is waited for, or wait for less";
    OutputMissing "E0605" "a byte of an output has no writer"
        "store every element of the output";
    IoOverlap "E0606" "two tensors share bytes of main memory"
        "give each argument, result and constant bytes of its own";
    OrderContradicts "E0607" "the program's own order contradicts its waits"
        "list a signal before the wait that needs it";
    Malformed "E0608" "the program does not hang together"
        "mend its tables: order, addresses, names, symbols";
    Unprovable "E0609" "something cannot be judged from the program alone"
        "use forms whose effect is written in the words";
    ResetState "E0610" "hidden state is used before any word sets it"
        "set it first, so that nothing depends on the reset value";
    HloOp "E0701" "a StableHLO operation outside of what is compiled"
        "docs/stablehlo.md lists what is compiled, and what to do instead of the rest";
    HloType "E0702" "a StableHLO type outside of what is compiled"
        "docs/stablehlo.md lists the types";
    HloForm "E0703" "a StableHLO operation lacks something, or has it wrong"
        "see the operation in StableHLO's specification";
    HloInline "E0704" "calls that cannot be put in line"
        "calls go to functions of the module, without recursion and within limits of depth and size";
    HloNote "N0701" "a StableHLO program is compiled otherwise than it might be"
        "docs/stablehlo.md tells how operations are compiled";

    CostProfile "E0801" "the cost profile cannot be used"
        "write only the figures to change, in the form of docs/cost.md";

    Internal "E0901" "the compiler broke one of its own promises"
        "this is a fault of Partita; please report it with the program";
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id())
    }
}

impl Serialize for Code {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.id())
    }
}

#[cfg(test)]
mod tests {
    use super::Code;

    #[test]
    fn every_error_has_a_number_of_its_own() {
        let mut ids: Vec<&str> = Code::ALL.iter().map(|code| code.id()).collect();
        ids.sort_unstable();
        let twice: Vec<_> = ids.windows(2).filter(|pair| pair[0] == pair[1]).collect();
        assert!(twice.is_empty(), "{twice:?}");
    }
}
