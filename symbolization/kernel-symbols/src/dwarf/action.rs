use gimli::constants as dw;

/// How an entry takes part in the inline tree.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    /// `DW_TAG_subprogram`, `DW_TAG_inlined_subroutine`.
    Function { inlined: bool },
    /// May hold functions somewhere below.
    Descend,
    /// Holds none: types, variables, call sites.
    Skip,
}

impl Action {
    /// `types_hold_none`: the unit is written in C, whose types have no member functions.
    pub(crate) fn of(tag: gimli::DwTag, types_hold_none: bool) -> Self {
        match tag {
            dw::DW_TAG_subprogram => Action::Function { inlined: false },
            dw::DW_TAG_inlined_subroutine => Action::Function { inlined: true },
            dw::DW_TAG_compile_unit
            | dw::DW_TAG_partial_unit
            | dw::DW_TAG_lexical_block
            | dw::DW_TAG_namespace
            | dw::DW_TAG_module
            | dw::DW_TAG_try_block
            | dw::DW_TAG_catch_block => Action::Descend,
            dw::DW_TAG_structure_type
            | dw::DW_TAG_class_type
            | dw::DW_TAG_union_type
            | dw::DW_TAG_enumeration_type
            | dw::DW_TAG_interface_type
                if !types_hold_none =>
            {
                Action::Descend
            }
            _ => Action::Skip,
        }
    }
}
