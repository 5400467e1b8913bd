//! The output of cargo about its test suites.

/// One suite: the unit tests of a crate, an integration binary or a crate's examples in documentation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Suite {
    /// As cargo names it.
    pub(crate) name: String,
    /// Its counts; none while it runs, and for ever when it died.
    pub(crate) counts: Option<Counts>,
}

/// The numbers of a suite's tests by how they ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Counts {
    /// Tests that ran to their end.
    pub(crate) passed: usize,
    /// Tests that failed.
    pub(crate) failed: usize,
    /// Tests that were not run.
    pub(crate) ignored: usize,
}

/// The suites seen so far, in the order in which they ran.
#[derive(Debug, Default)]
pub(crate) struct Suites(Vec<Suite>);

impl Suites {
    /// Takes in one line of the merged outputs of `cargo test`.
    pub(crate) fn read(&mut self, line: &str) {
        if let Some(name) = suite_name(line) {
            self.0.push(Suite { name, counts: None });
        } else if let (Some(counts), Some(suite)) = (counts(line), self.0.last_mut()) {
            suite.counts = Some(counts);
        }
    }

    /// Those that had any test, or died.
    pub(crate) fn worth_telling(&self) -> impl Iterator<Item = &Suite> {
        self.0.iter().filter(|suite| suite.counts != Some(Counts::default()))
    }

    /// The sum of all of them; a suite that died is one failure.
    pub(crate) fn total(&self) -> Counts {
        let died = Counts { failed: 1, ..Counts::default() };
        self.0.iter().map(|suite| suite.counts.unwrap_or(died)).fold(Counts::default(), |sum, counts| {
            Counts {
                passed: sum.passed + counts.passed,
                failed: sum.failed + counts.failed,
                ignored: sum.ignored + counts.ignored,
            }
        })
    }
}

/// `Running unittests src/lib.rs (target/debug/deps/name-0123abcd)` or `Doc-tests name`, indented.
fn suite_name(line: &str) -> Option<String> {
    let line = line.trim_start();
    if let Some(name) = line.strip_prefix("Doc-tests ") {
        return Some(format!("{name} (documentation)"));
    }
    let (what, binary) = line.strip_prefix("Running ")?.strip_suffix(')')?.rsplit_once(" (")?;
    let binary = binary.rsplit('/').next()?;
    let (name, _hash) = binary.rsplit_once('-')?;
    let kind = if what.starts_with("unittests") { "unit" } else { "integration" };
    Some(format!("{name} ({kind})"))
}

/// `test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; …`
fn counts(line: &str) -> Option<Counts> {
    let (_, figures) = line.strip_prefix("test result: ")?.split_once(". ")?;
    let figure = |what: &str| {
        figures.split("; ").find_map(|part| part.strip_suffix(what)?.trim().parse::<usize>().ok())
    };
    Some(Counts { passed: figure("passed")?, failed: figure("failed")?, ignored: figure("ignored")? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Suites {
        let mut suites = Suites::default();
        text.lines().for_each(|line| suites.read(line));
        suites
    }

    const TWO: &str = "\
     Running unittests src/lib.rs (target/debug/deps/some_crate-0a1b2c)
running 3 tests
test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s
     Running tests/it/main.rs (target/debug/deps/it-99)
test result: FAILED. 1 passed; 4 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1.00s
   Doc-tests some_crate
test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s
";

    #[test]
    fn suites_are_named_and_summed() {
        let suites = read(TWO);
        assert_eq!(suites.total(), Counts { passed: 3, failed: 4, ignored: 1 });
        let names: Vec<_> = suites.worth_telling().map(|suite| suite.name.as_str()).collect();
        assert_eq!(names, ["some_crate (unit)", "it (integration)"]);
    }

    #[test]
    fn a_suite_without_a_result_is_a_failure() {
        let suites = read("     Running unittests src/lib.rs (target/debug/deps/gone-77)\nrunning 3 tests\n");
        assert_eq!(suites.total().failed, 1);
        assert_eq!(suites.worth_telling().count(), 1);
    }

    #[test]
    fn words_of_a_test_are_no_suite() {
        assert_eq!(read("Running away (from it)\ntest result: unclear\n").total(), Counts::default());
    }
}
