//! Members that can take more.

use std::collections::VecDeque;

use crate::MemberIndex;

/// The members whose shares are not full.
pub(super) struct Open {
    /// Those that have less than the least share, ascending.
    pub(super) under: Vec<MemberIndex>,
    /// Those that have the least share and may have one unit more, in the order in which they
    /// get it.
    pub(super) exact: VecDeque<MemberIndex>,
}
