//! The plan of Kafka's own assignor for the members of a group, made by its class in a Java process.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Output, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use kafka_assigner_kafka::messages::DescribedClassicGroup;
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;
use tokio::time::timeout;

use super::PARTITIONS;
use super::described::Part;
use crate::scenario::java::JavaProgram;

const PROGRAM: JavaProgram =
    JavaProgram { file: "Planned.java", source: include_str!("../../../java/Planned.java") };

/// A Java machine compiles the program and runs it within seconds; a loaded machine takes many times that.
const BOUND: Duration = Duration::from_secs(120);

/// The names of Kafka's assignors.
const ASSIGNORS: [&str; 4] = ["range", "roundrobin", "sticky", "cooperative-sticky"];

/// The parts of members by their ids, as Kafka's class plans them for the members as they joined; `None`: Kafka has no
/// assignor of the group's strategy.
pub(super) async fn planned(
    jars: &Path,
    folder: &Path,
    group: &DescribedClassicGroup,
) -> Result<Option<BTreeMap<String, Part>>> {
    if !ASSIGNORS.contains(&group.protocol_data.as_str()) {
        return Ok(None);
    }
    let mut command = PROGRAM.command(jars, folder)?;
    command.arg(&group.protocol_data);
    let output = run(command.into(), &input(group)).await.context("Kafka's assignor could not be asked")?;
    let (said, failed) = (String::from_utf8(output.stdout)?, String::from_utf8_lossy(&output.stderr));
    if !output.status.success() {
        bail!("Kafka's assignor ended with {}:\n{failed}", output.status);
    }
    let ids = group.members.iter().map(|member| member.member_id.as_str());
    parts(ids, &said).map(Some)
}

async fn run(mut command: Command, input: &str) -> Result<Output> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    let mut child = command.spawn().context("a JDK is needed, of Java 17 or newer")?;
    let mut writer = child.stdin.take().context("its standard input is a pipe")?;
    let run = async {
        writer.write_all(input.as_bytes()).await?;
        drop(writer);
        child.wait_with_output().await
    };
    Ok(timeout(BOUND, run).await??)
}

/// The members as the program reads them.
fn input(group: &DescribedClassicGroup) -> String {
    let mut lines = format!("topic\t{}\t{PARTITIONS}\n", group.group_id);
    for member in &group.members {
        let instance = member.group_instance_id.as_deref().unwrap_or_default();
        let subscription: String =
            member.member_metadata.0.iter().map(|byte| format!("{byte:02x}")).collect();
        lines += &format!("member\t{}\t{instance}\t{subscription}\n", member.member_id);
    }
    lines
}

/// The parts in the lines of the program. A member without a line has no partition.
fn parts<'a>(ids: impl Iterator<Item = &'a str>, lines: &str) -> Result<BTreeMap<String, Part>> {
    let mut parts: BTreeMap<String, Part> = ids.map(|id| (id.to_owned(), Part::new())).collect();
    for line in lines.lines() {
        let mut words = line.split('\t');
        let (Some(id), Some(topic), Some(number)) = (words.next(), words.next(), words.next()) else {
            bail!("Kafka's assignor said {line:?}");
        };
        let part = parts.get_mut(id).with_context(|| format!("{id} is no member"))?;
        part.insert((topic.to_owned(), number.parse()?));
    }
    Ok(parts)
}

#[cfg(test)]
mod tests {
    use kafka_assigner_kafka::messages::DescribedClassicMember;
    use kafka_assigner_kafka::wire::Blob;

    use super::*;

    #[test]
    fn members_are_told_with_what_they_sent() {
        let member = DescribedClassicMember {
            member_id: "m".to_owned(),
            group_instance_id: Some("i".to_owned()),
            member_metadata: Blob(vec![0, 10, 255].into()),
            ..DescribedClassicMember::default()
        };
        let group = DescribedClassicGroup {
            group_id: "t".to_owned(),
            members: vec![member],
            ..DescribedClassicGroup::default()
        };
        assert_eq!(input(&group), "topic\tt\t6\nmember\tm\ti\t000aff\n");
    }

    #[test]
    fn a_member_that_gets_nothing_has_an_empty_part_and_a_stranger_is_refused() {
        let plan = parts(["a", "b"].into_iter(), "a\tt\t0\na\tt\t2\n").unwrap();
        let part = [("t".to_owned(), 0), ("t".to_owned(), 2)].into();
        assert_eq!(plan, [("a".to_owned(), part), ("b".to_owned(), Part::new())].into());
        assert!(parts(["a"].into_iter(), "c\tt\t0\n").is_err());
        assert!(parts(["a"].into_iter(), "a\tt\n").is_err());
    }
}
