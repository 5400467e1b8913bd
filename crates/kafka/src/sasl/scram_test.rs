//! The example of RFC 7677, and brokers that cheat.

use proptest::prelude::*;

use super::*;

const NONCE: &str = "rOprNGfwEbeRWgbNEkqO";
const SERVER_FIRST: &str =
    "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096";

fn credentials(user: &str) -> UserPassword {
    UserPassword { user: user.to_owned(), password: "pencil".to_owned() }
}

fn exchange() -> Scram {
    Scram::sha256(credentials("user"), NONCE.to_owned())
}

fn refusal(server_first: &str) -> ScramError {
    exchange().prove(server_first.as_bytes()).err().expect("it is refused")
}

#[test]
fn the_example_of_the_rfc() {
    let scram = exchange();
    assert_eq!(scram.first(), "n,,n=user,r=rOprNGfwEbeRWgbNEkqO");
    let proven = scram.prove(SERVER_FIRST.as_bytes()).unwrap();
    assert_eq!(
        proven.message,
        "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
    );
    assert_eq!(proven.check(b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="), Ok(()));
}

#[test]
fn a_broker_that_does_not_know_the_password_is_found_out() {
    let proven = exchange().prove(SERVER_FIRST.as_bytes()).unwrap();
    for (message, error) in [
        (&b"v=7rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="[..], ScramError::Signature),
        (b"v=", ScramError::Signature),
        (b"v=*", ScramError::Malformed),
        (b"", ScramError::Malformed),
        (b"\xff", ScramError::Malformed),
        (b"e=invalid-proof", ScramError::Refused),
    ] {
        assert_eq!(proven.check(message), Err(error));
    }
}

#[test]
fn a_first_message_out_of_bounds_is_refused() {
    let with = |nonce: &str, salt: &str, rounds: &str| refusal(&format!("r={nonce},s={salt},i={rounds}"));
    let good = format!("{NONCE}more");
    assert_eq!(with("another", "c2FsdA==", "4096"), ScramError::Nonce);
    assert_eq!(with(NONCE, "c2FsdA==", "4096"), ScramError::Nonce);
    assert_eq!(with(&good, "", "4096"), ScramError::Malformed);
    assert_eq!(with(&good, "*", "4096"), ScramError::Malformed);
    assert_eq!(with(&good, "c2FsdA==", "4095"), ScramError::Iterations(4095));
    assert_eq!(with(&good, "c2FsdA==", "1000001"), ScramError::Iterations(1_000_001));
    for rounds in ["", "+4096", "-1", "4096x", "99999999999999999999"] {
        assert_eq!(with(&good, "c2FsdA==", rounds), ScramError::Malformed);
    }
    assert_eq!(refusal("m=ext,r=x"), ScramError::Extension);
    // Half a message, as it stops some libraries.
    assert_eq!(refusal(&format!("r={good},,i=4096")), ScramError::Malformed);
    assert_eq!(refusal(""), ScramError::Malformed);
}

#[test]
fn separators_in_a_name_are_written_in_words() {
    let scram = Scram::sha512(credentials("a=b,c"), "N".to_owned());
    assert_eq!(scram.first(), "n,,n=a=3Db=2Cc,r=N");
}

#[test]
fn nonces_differ() {
    assert_ne!(nonce().unwrap(), nonce().unwrap());
}

proptest! {
    #[test]
    fn no_message_of_a_broker_panics(first in ".{0,200}", last in proptest::collection::vec(any::<u8>(), 0..100)) {
        let _refused = exchange().prove(first.as_bytes());
        let proven = exchange().prove(SERVER_FIRST.as_bytes()).unwrap();
        prop_assert!(proven.check(&last).is_err());
    }
}
