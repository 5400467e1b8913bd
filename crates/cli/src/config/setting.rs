//! One setting.

use super::value::Form;

/// One setting, as its declaration says.
#[derive(Debug)]
pub(crate) struct Setting {
    /// Its name, in snake case: the key in the file, from which flag and variable follow.
    pub(crate) name: &'static str,
    /// The description, one or more lines.
    pub(crate) doc: &'static str,
    /// Its default as one would write it in a flag; empty = not set.
    pub(crate) default: &'static str,
    /// The written form.
    pub(crate) form: Form,
    /// The allowed values (of a list: of each item), as the end of "it must be …".
    pub(crate) expects: &'static str,
    /// True if its value is never shown.
    pub(crate) secret: bool,
}

impl Setting {
    /// The long flag, without its dashes.
    pub(crate) fn flag(&self) -> String {
        self.name.replace('_', "-")
    }

    /// The environment variable.
    pub(crate) fn variable(&self) -> String {
        format!("KAFKA_ASSIGNER_{}", self.name.to_ascii_uppercase())
    }

    /// The allowed values, as the end of "it must be …".
    pub(super) fn allowed(&self) -> String {
        match self.form {
            Form::List => format!("a list, each item {}", self.expects),
            Form::One | Form::Switch => self.expects.to_owned(),
        }
    }

    /// The lines of its description.
    pub(crate) fn lines(&self) -> impl Iterator<Item = &'static str> {
        self.doc.lines().map(str::trim)
    }
}
