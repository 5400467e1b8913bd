use kafka_assigner_types::name::{GroupName, MemberName};
use proptest::prelude::*;

use super::*;
use crate::policy::{Denied, Identity};
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
    let policy = Policy::parse(&(entry("a", &old) + &entry("a", &new) + RULES)).unwrap();
    assert_eq!(policy.holder_of(old.reveal()).map(|holder| holder.name().clone()), Some(caller("a")));
    assert_eq!(policy.holder_of(new.reveal()).map(|holder| holder.name().clone()), Some(caller("a")));
    assert_eq!(policy.holder_of("guess"), None);
    let shared = Policy::parse(&(entry("a", &old) + &entry("b", &old) + RULES)).unwrap_err();
    assert_eq!(shared.to_string(), "the tokens of a and b are the same: a token has one holder");
}

#[test]
fn the_first_limit_that_names_a_caller_counts() {
    let text =
        "[[limit]]\ncallers = [\"ops-*\"]\n[[limit]]\ncallers = [\"*\"]\ncalls_per_second = 5\nwatches = 1\n";
    let policy = Policy::parse(&(text.to_owned() + RULES)).unwrap();
    assert_eq!(policy.limits(&caller("ops-1")), Limits::default());
    let others = Limits { calls_per_second: Some(5), streams: None, watches: Some(1) };
    assert_eq!(policy.limits(&caller("payments")), others);
    assert_eq!(Policy::parse(RULES).unwrap().limits(&caller("payments")), Limits::default());
}

#[test]
fn a_file_without_rules_is_one_that_is_being_written() {
    for text in ["", "# to do\n", "[[token]]\ncaller = \"a\"\n"] {
        assert!(Policy::parse(text).is_err(), "{text:?}");
    }
    assert_eq!(Policy::parse("").unwrap_err(), InvalidPolicy::NoRules);
}

#[test]
fn what_may_be_a_token_is_not_shown() {
    let secret = CallerToken::of_random([9; 32]);
    for field in ["sha256", "token"] {
        let text = format!("[[token]]\ncaller = \"a\"\n{field} = \"{}\"\n", secret.reveal());
        let error = Policy::parse(&text).unwrap_err().to_string();
        assert!(!error.contains(secret.reveal()) && error.starts_with("line "), "{error}");
    }
}

#[test]
fn a_token_that_was_taken_out_makes_its_holder_unknown() {
    let (old, new) = (CallerToken::of_random([1; 32]), CallerToken::of_random([2; 32]));
    let entry =
        |token: &CallerToken| format!("[[token]]\ncaller = \"payments\"\nsha256 = \"{}\"\n", token.sha256());
    let both = Policy::parse(&(entry(&old) + &entry(&new) + RULES)).unwrap();
    let thief = both.holder_of(old.reveal()).unwrap();
    let later = Policy::parse(&(entry(&new) + RULES)).unwrap();
    assert!(both.knows(&thief) && !later.knows(&thief));
    assert!(later.knows(&later.holder_of(new.reveal()).unwrap()));
    assert!(later.knows(&Identity::by_certificate(caller("payments"))), "it never had a token");
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
