use kafka_assigner_types::name::{GroupName, MemberName};
use proptest::prelude::*;

use super::*;
use crate::policy::Denied;
use crate::token::CallerToken;

const RULES: &str = r#"
[[rule]]
callers = ["payments"]
groups = ["payments-*"]
rights = ["consume", "read"]
members = ["{caller}-*"]

[[rule]]
callers = ["ops-*"]
groups = ["*"]
rights = ["operate"]
"#;

fn caller(name: &str) -> CallerName {
    CallerName::new(name).unwrap()
}

fn group(name: &str) -> GroupName {
    GroupName::new(name).unwrap()
}

fn allowed(who: &str, right: Right, of: &str) -> bool {
    Policy::parse(RULES).unwrap().check(&caller(who), right, &group(of)).is_ok()
}

#[test]
fn a_caller_has_the_rights_of_its_rules_and_no_others() {
    assert!(allowed("payments", Right::Consume, "payments-eu"));
    assert!(allowed("payments", Right::Read, "payments-eu"));
    for (right, of) in [
        (Right::Operate, "payments-eu"),
        (Right::Route, "payments-eu"),
        (Right::Consume, "billing"),
        (Right::Read, "billing"),
    ] {
        assert!(!allowed("payments", right, of), "{right} {of}");
    }
    assert!(!allowed("stranger", Right::Read, "payments-eu"));
}

#[test]
fn an_operator_may_read_and_is_no_consumer() {
    assert!(allowed("ops-1", Right::Operate, "billing") && allowed("ops-1", Right::Read, "billing"));
    assert!(!allowed("ops-1", Right::Consume, "billing") && !allowed("ops-1", Right::Route, "billing"));
}

#[test]
fn a_caller_uses_the_names_that_its_rule_allows() {
    let policy = Policy::parse(RULES).unwrap();
    let (who, of) = (caller("payments"), group("payments-eu"));
    let check = |name: &str| policy.check_member(&who, Right::Consume, &of, &MemberName::new(name).unwrap());
    assert_eq!(check("payments-7"), Ok(()));
    let denied = check("billing-7").unwrap_err();
    assert!(matches!(denied, Denied::Name { .. }), "{denied}");
    assert_eq!(
        denied.to_string(),
        "caller payments may not consume in group payments-eu under the name billing-7: no rule of the access file \
         allows it"
    );
}

#[test]
fn a_caller_is_known_by_any_of_its_tokens_and_a_token_has_one_holder() {
    let (old, new) = (CallerToken::of_random([1; 32]), CallerToken::of_random([2; 32]));
    let entry = |name: &str, token: &CallerToken| {
        format!("[[token]]\ncaller = {name:?}\nsha256 = {:?}\n", token.sha256())
    };
    let policy = Policy::parse(&(entry("a", &old) + &entry("a", &new))).unwrap();
    assert_eq!(policy.caller_of_token(old.reveal()), Some(&caller("a")));
    assert_eq!(policy.caller_of_token(new.reveal()), Some(&caller("a")));
    assert_eq!(policy.caller_of_token("guess"), None);
    let shared = Policy::parse(&(entry("a", &old) + &entry("b", &old))).unwrap_err();
    assert_eq!(shared.to_string(), "the tokens of a and b are the same: a token has one holder");
}

#[test]
fn nothing_is_allowed_by_an_empty_file() {
    let policy = Policy::parse("").unwrap();
    assert!(Right::ALL.iter().all(|&right| policy.check(&caller("a"), right, &group("g")).is_err()));
}

#[test]
fn a_file_that_is_wrong_says_where_and_by_which_rule() {
    let rule = |fields: &str| format!("[[rule]]\n{fields}");
    for (text, part) in [
        (rule("callers = [\"a\"]\ngroups = [\"*\"]\nrights = [\"write\"]"), "operate"),
        (rule("callers = []\ngroups = [\"*\"]\nrights = [\"read\"]"), "rule 1 has no callers"),
        (rule("callers = [\"a*b\"]\ngroups = [\"*\"]\nrights = [\"read\"]"), "one \"*\" at its end"),
        (rule("callers = [\"a\"]\ngroups = [\"*\"]\nrights = [\"read\"]\nnames = []"), "names"),
        ("[[token]]\ncaller = \"a\"\nsha256 = \"secret\"".to_owned(), "64 hexadecimal digits"),
        ("[[token]]\ncaller = \"a b\"\nsha256 = \"\"".to_owned(), "no space"),
        ("[rule".to_owned(), "line 1"),
        ("#".repeat(LARGEST_FILE + 1), "at most"),
        (rule("callers = [\"a\"]\ngroups = [\"*\"]\nrights = [\"read\"]\n").repeat(1_001), "1001 rules"),
    ] {
        let error = Policy::parse(&text).unwrap_err().to_string();
        assert!(error.contains(part), "{part}: {error}");
    }
}

proptest! {
    #[test]
    fn no_text_makes_the_reader_panic(text in ".{0,400}") {
        let _any = Policy::parse(&text);
    }

    #[test]
    fn more_rules_never_take_a_right_away(who in "[a-c]", of in "[a-c]", first in 0..4_usize, second in 0..4_usize) {
        let rule = |right: Right| format!("[[rule]]\ncallers = [\"a\", \"b*\"]\ngroups = [\"*\"]\nrights = [\"{right}\"]\n");
        let [one, other] = [first, second].map(|at| rule(Right::ALL[at]));
        let fewer = Policy::parse(&one).unwrap();
        let more = Policy::parse(&(one + &other)).unwrap();
        for right in Right::ALL {
            let [before, after] =
                [&fewer, &more].map(|policy| policy.check(&caller(&who), right, &group(&of)).is_ok());
            prop_assert!(after || !before);
        }
    }
}
