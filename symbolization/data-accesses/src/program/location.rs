use data_types::{Slice, Unit, Units};
use gimli::{Encoding, Expression, Operation};

use crate::machine::{Machine, Register};

/// Where a variable is. All others say nothing of a register or of memory that an access goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Location {
    /// Its value is that of a register, plus a number.
    Value(Register, i64),
    /// In memory, so far behind where a register points to.
    Memory(Register, i64),
    /// In memory, so far behind where a register points to once the function has its frame.
    InFrame(Register, i64),
    /// In memory, so far behind the frame's address (the CFA).
    Frame(i64),
    /// In memory, always.
    Static(u64),
}

impl Location {
    /// Where it is if it is there all the time, also before the function has its frame.
    pub(super) fn always(self) -> Self {
        match self {
            Location::Memory(register, offset) => Location::InFrame(register, offset),
            other => other,
        }
    }
}

/// No expression that says one of these is longer.
const MOST_OPERATIONS: usize = 8;

/// Where a function's frame is that its variables are relative to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Frame {
    /// The CFA.
    #[default]
    Cfa,
    /// Where a register points to.
    Register(Register),
}

impl Frame {
    pub(super) fn of(
        machine: &dyn Machine,
        encoding: Encoding,
        expression: Expression<Slice<'_>>,
    ) -> Self {
        match operations(encoding, expression).as_deref() {
            Some([Operation::Register { register }]) => machine
                .register(register.0)
                .map_or(Frame::Cfa, Frame::Register),
            _ => Frame::Cfa,
        }
    }
}

/// What an expression says, where it is one of those (DWARF 5, 2.6.1).
pub(super) fn location<'d>(
    units: &Units<'d>,
    unit: &Unit<'d>,
    machine: &dyn Machine,
    frame: Frame,
    expression: Expression<Slice<'d>>,
) -> Option<Location> {
    let register = |register: &gimli::Register| machine.register(register.0);
    let found = operations(unit.header.encoding(), expression)?;
    match found.as_slice() {
        [Operation::Register { register: one }] => Some(Location::Value(register(one)?, 0)),
        [Operation::RegisterOffset {
            register: one,
            offset,
            ..
        }, rest @ ..] => match rest {
            [] => Some(Location::Memory(register(one)?, *offset)),
            // What container_of makes of a pointer.
            [Operation::StackValue] => Some(Location::Value(register(one)?, *offset)),
            [Operation::PlusConstant { value }, Operation::StackValue] => {
                let offset = offset.wrapping_add_unsigned(*value);
                Some(Location::Value(register(one)?, offset))
            }
            _ => None,
        },
        [Operation::FrameOffset { offset }] => Some(match frame {
            Frame::Cfa => Location::Frame(*offset),
            Frame::Register(one) => Location::InFrame(one, *offset),
        }),
        [Operation::Address { address }] => Some(Location::Static(*address)),
        [Operation::AddressIndex { index }] => {
            let (size, base) = (unit.header.address_size(), unit.addresses);
            let address = units.dwarf.debug_addr.get_address(size, base, *index);
            address.ok().map(Location::Static)
        }
        _ => None,
    }
}

/// The operations of an expression; none where there are too many.
pub(super) fn operations<'d>(
    encoding: Encoding,
    expression: Expression<Slice<'d>>,
) -> Option<Vec<Operation<Slice<'d>>>> {
    let mut every = expression.operations(encoding);
    let mut found = Vec::with_capacity(2);
    while let Ok(Some(one)) = every.next() {
        if found.len() == MOST_OPERATIONS {
            return None;
        }
        found.push(one);
    }
    Some(found)
}
