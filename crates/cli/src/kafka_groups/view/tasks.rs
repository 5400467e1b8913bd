//! Tasks of a Kafka Streams application.

use std::fmt;

use kafka_assigner_kafka::messages::{StreamsTaskAssignment, StreamsTaskIds};
use serde::Serialize;

/// The tasks of a member.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub(in crate::kafka_groups) struct StreamsTasks {
    /// Those that process records.
    pub(super) active: Vec<SubtopologyTasks>,
    /// Those that keep copies of states.
    pub(super) standby: Vec<SubtopologyTasks>,
    /// Those that build a state before it moves.
    pub(super) warmup: Vec<SubtopologyTasks>,
}

/// Tasks of one subtopology, in the broker's order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(in crate::kafka_groups) struct SubtopologyTasks {
    pub(super) subtopology: String,
    pub(super) partitions: Vec<i32>,
}

impl StreamsTasks {
    pub(super) fn new(answer: StreamsTaskAssignment) -> Self {
        let all = |ids: Vec<StreamsTaskIds>| {
            let one = |ids: StreamsTaskIds| SubtopologyTasks {
                subtopology: ids.subtopology_id,
                partitions: ids.partitions,
            };
            ids.into_iter().map(one).collect()
        };
        Self {
            active: all(answer.active_tasks),
            standby: all(answer.standby_tasks),
            warmup: all(answer.warmup_tasks),
        }
    }

    /// The active tasks, each with its subtopology and number.
    pub(super) fn active(&self) -> impl Iterator<Item = (&str, i32)> {
        self.active.iter().flat_map(|SubtopologyTasks { subtopology, partitions }| {
            partitions.iter().map(|number| (subtopology.as_str(), *number))
        })
    }

    /// As Kafka's tool, with `prefix` before the kind of task.
    pub(in crate::kafka_groups) fn shown(&self, prefix: &'static str) -> ShownTasks<'_> {
        ShownTasks { tasks: self, prefix }
    }
}

/// Tasks in the words of Kafka's tool: `ACTIVE: 0:[0,2]; STANDBY: 0:[1]; `.
#[derive(Debug)]
pub(in crate::kafka_groups) struct ShownTasks<'a> {
    tasks: &'a StreamsTasks,
    prefix: &'static str,
}

impl fmt::Display for ShownTasks<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let StreamsTasks { active, standby, warmup } = self.tasks;
        for (kind, tasks) in [("ACTIVE", active), ("STANDBY", standby), ("WARMUP", warmup)] {
            if !tasks.is_empty() {
                write!(f, "{}{kind}: ", self.prefix)?;
            }
            for SubtopologyTasks { subtopology, partitions } in tasks {
                let numbers: Vec<_> = partitions.iter().map(i32::to_string).collect();
                write!(f, "{subtopology}:[{}]; ", numbers.join(","))?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_are_written_as_kafkas_tool_does() {
        let ids = |subtopology: &str, partitions: &[i32]| StreamsTaskIds {
            subtopology_id: subtopology.to_owned(),
            partitions: partitions.to_vec(),
        };
        let answer = StreamsTaskAssignment {
            active_tasks: vec![ids("0", &[0, 2, 4]), ids("1", &[0])],
            standby_tasks: Vec::new(),
            warmup_tasks: vec![ids("1", &[3])],
        };
        let tasks = StreamsTasks::new(answer);
        assert_eq!(tasks.shown("").to_string(), "ACTIVE: 0:[0,2,4]; 1:[0]; WARMUP: 1:[3]; ");
        assert_eq!(
            tasks.shown("TARGET-").to_string(),
            "TARGET-ACTIVE: 0:[0,2,4]; 1:[0]; TARGET-WARMUP: 1:[3]; "
        );
        assert_eq!(tasks.active().collect::<Vec<_>>(), [("0", 0), ("0", 2), ("0", 4), ("1", 0)]);
    }
}
