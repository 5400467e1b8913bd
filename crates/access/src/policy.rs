//! The decision: who may do what.

use std::collections::{BTreeSet, HashMap};

use kafka_assigner_types::name::{GroupName, MemberName};

use crate::caller::CallerName;
use crate::limits::Limits;
use crate::pattern::{MemberPattern, Pattern};
use crate::right::Right;
use crate::token::TokenHash;

/// The tokens and rules by which callers are known and allowed. What no rule allows is denied.
#[derive(Debug, Clone, Default)]
pub struct Policy {
    pub(crate) tokens: HashMap<TokenHash, CallerName>,
    pub(crate) rules: Vec<AccessRule>,
    pub(crate) limits: Vec<(Vec<Pattern>, Limits)>,
}

/// A rule: these callers have these rights in these groups, under these names.
#[derive(Debug, Clone)]
pub struct AccessRule {
    pub(crate) callers: Vec<Pattern>,
    pub(crate) groups: Vec<Pattern>,
    pub(crate) rights: BTreeSet<Right>,
    pub(crate) members: Vec<MemberPattern>,
}

/// A caller, and the way in which it is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    name: CallerName,
    /// The hash of its token; `None`: its certificate names it.
    token: Option<TokenHash>,
}

impl Identity {
    /// The caller that a verified certificate names.
    #[must_use]
    pub const fn by_certificate(name: CallerName) -> Self {
        Self { name, token: None }
    }

    /// Its name.
    #[must_use]
    pub const fn name(&self) -> &CallerName {
        &self.name
    }
}

/// A refusal: the caller, the right that it lacks, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Denied {
    /// No rule gives the caller the right in the group.
    #[error("caller {caller} may not {right} in group {group}: no rule of the access file allows it")]
    Right {
        /// The caller.
        caller: CallerName,
        /// The right that it lacks.
        right: Right,
        /// The group.
        group: GroupName,
    },
    /// The rules give it the right, but not under that name.
    #[error(
        "caller {caller} may not {right} in group {group} under the name {member}: no rule of the access file allows it"
    )]
    Name {
        /// The caller.
        caller: CallerName,
        /// The right that it has under other names.
        right: Right,
        /// The group.
        group: GroupName,
        /// The name that it may not use.
        member: MemberName,
    },
}

impl Policy {
    /// The holder of `token`, if anybody holds it.
    #[must_use]
    pub fn holder_of(&self, token: &str) -> Option<Identity> {
        let hash = TokenHash::of(token)?;
        self.tokens.get(&hash).map(|name| Identity { name: name.clone(), token: Some(hash) })
    }

    /// True if it still knows a caller that it knew: the token by which that came is still its token.
    #[must_use]
    pub fn knows(&self, caller: &Identity) -> bool {
        caller.token.is_none_or(|hash| self.tokens.get(&hash) == Some(&caller.name))
    }

    /// True if callers may show tokens.
    #[must_use]
    pub fn has_tokens(&self) -> bool {
        !self.tokens.is_empty()
    }

    /// Decides whether `caller` has `right` in `group`.
    ///
    /// # Errors
    /// [`Denied::Right`] where no rule gives it.
    pub fn check(&self, caller: &CallerName, right: Right, group: &GroupName) -> Result<(), Denied> {
        let mut rules = self.rules_of(caller, right, group);
        rules.next().map(drop).ok_or_else(|| Denied::Right {
            caller: caller.clone(),
            right,
            group: group.clone(),
        })
    }

    /// Decides whether `caller` has `right` in `group` under the name `member`.
    ///
    /// # Errors
    /// [`Denied`], by what it lacks.
    pub fn check_member(
        &self,
        caller: &CallerName,
        right: Right,
        group: &GroupName,
        member: &MemberName,
    ) -> Result<(), Denied> {
        self.check(caller, right, group)?;
        if self.rules_of(caller, right, group).any(|rule| rule.names(caller, member)) {
            return Ok(());
        }
        let (caller, group, member) = (caller.clone(), group.clone(), member.clone());
        Err(Denied::Name { caller, right, group, member })
    }

    /// The limits of `caller`: those of the first entry that names it, else none.
    #[must_use]
    pub fn limits(&self, caller: &CallerName) -> Limits {
        let names = |callers: &[Pattern]| callers.iter().any(|pattern| pattern.matches(caller.as_str()));
        self.limits.iter().find(|(callers, _)| names(callers)).map(|(_, limits)| *limits).unwrap_or_default()
    }

    /// The number of its tokens and of its rules, for the log.
    #[must_use]
    pub fn size(&self) -> (usize, usize) {
        (self.tokens.len(), self.rules.len())
    }

    fn rules_of<'a>(
        &'a self,
        caller: &'a CallerName,
        right: Right,
        group: &'a GroupName,
    ) -> impl Iterator<Item = &'a AccessRule> {
        self.rules.iter().filter(move |rule| rule.allows(caller, right, group))
    }
}

impl AccessRule {
    fn allows(&self, caller: &CallerName, right: Right, group: &GroupName) -> bool {
        self.rights.iter().any(|given| given.includes(right))
            && self.callers.iter().any(|pattern| pattern.matches(caller.as_str()))
            && self.groups.iter().any(|pattern| pattern.matches(group.as_str()))
    }

    fn names(&self, caller: &CallerName, member: &MemberName) -> bool {
        self.members.iter().any(|pattern| pattern.matches(caller.as_str(), member.as_str()))
    }
}
