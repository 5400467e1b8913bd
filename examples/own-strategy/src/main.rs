//! A strategy of one's own, beside the service's default: `cargo run -p kafka-assigner-example-own-strategy`.

mod packed;

use kafka_assigner_strategies::{InvalidProblem, MemberSpec, Problem, Registry, Strategy};

use packed::Packed;

fn main() -> Result<(), InvalidProblem> {
    let problem = group()?;
    let strategies = Registry::builtin().with(&Packed);
    for name in [Registry::DEFAULT, "packed"] {
        if let Some(strategy) = strategies.named(name) {
            show(strategy, &problem);
        }
    }
    Ok(())
}

/// Three consumers and 24 partitions that nobody owns.
fn group() -> Result<Problem, InvalidProblem> {
    let mut builder = Problem::builder();
    builder.topic("clicks", 24);
    for (id, max_partitions) in [("a", Some(16)), ("b", None), ("c", None)] {
        builder.member(MemberSpec { max_partitions, ..MemberSpec::new(id) });
    }
    builder.build()
}

fn show(strategy: &dyn Strategy, problem: &Problem) {
    let placement = strategy.assign(problem);
    println!("{}: {}", strategy.name(), strategy.summary());
    for member in problem.member_indices() {
        let owned = placement.owner.iter().filter(|owner| **owner == Some(member)).count();
        println!("  {:<2} {owned:>2} partitions", problem.member(member).id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loads(strategy: &dyn Strategy) -> Result<Vec<usize>, InvalidProblem> {
        let problem = group()?;
        let placement = strategy.assign(&problem);
        let load = |member| placement.owner.iter().filter(|owner| **owner == Some(member)).count();
        Ok(problem.member_indices().map(load).collect())
    }

    #[test]
    fn one_member_is_filled_after_the_other() -> Result<(), InvalidProblem> {
        assert_eq!(loads(&Packed)?, [16, 8, 0]);
        Ok(())
    }

    #[test]
    fn it_is_found_by_its_name_beside_the_others() {
        let strategies = Registry::builtin().with(&Packed);
        assert!(strategies.named("packed").is_some());
        assert_eq!(strategies.all().len(), Registry::builtin().all().len() + 1);
    }
}
