//! Shows a configuration as the file that would give it.

use std::fmt::Write as _;

use super::origin::SettingOrigin;
use super::resolved::{Configuration, Resolved};
use super::secret::HIDDEN;
use super::setting::Setting;

impl<C: Configuration> Resolved<C> {
    /// The configuration as TOML, each value with its origin in a comment.
    ///
    /// Read as a file it gives the same configuration, but for secrets, which are hidden and commented out, as
    /// is what is not set.
    pub(crate) fn to_toml(&self) -> String {
        let mut page = String::new();
        let values = self.config.values();
        for ((setting, value), origin) in C::SETTINGS.iter().zip(values).zip(&self.origins) {
            for line in setting.lines() {
                line_of(&mut page, &format!("# {line}"));
            }
            show(&mut page, setting, value, origin);
            page.push('\n');
        }
        page.truncate(page.trim_end().len());
        page.push('\n');
        page
    }
}

fn show(page: &mut String, setting: &Setting, value: Option<toml::Value>, origin: &SettingOrigin) {
    let name = setting.name;
    match value {
        None => line_of(page, &format!("# {name} is not set ({origin})")),
        Some(_) if setting.secret => line_of(page, &format!("# {name} = {HIDDEN} # {origin}")),
        Some(value) => line_of(page, &format!("{name} = {value} # {origin}")),
    }
}

fn line_of(page: &mut String, line: &str) {
    writeln!(page, "{line}").expect("a String takes everything");
}
