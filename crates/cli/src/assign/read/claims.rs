//! The present owners, as far as the members' claims agree.

use super::checked::Checked;

/// The owners by the members' claims, as Kafka sees them: of two claims that of the later generation counts, and of
/// two of one generation neither does. Partitions that do not exist and topics that the member is not subscribed to
/// are nobody's to claim.
#[derive(Debug)]
pub(in crate::assign) struct Owners {
    /// By topic and partition; empty for a topic of which nobody claims anything, so that a line costs memory for what it
    /// says only.
    claims: Vec<Vec<OwnerClaim>>,
}

impl Owners {
    /// The owners by the claims of a line.
    pub(in crate::assign) fn of(line: &Checked<'_>) -> Self {
        let mut claims = vec![Vec::new(); line.input.topics.len()];
        for (member, said) in line.input.members.iter().enumerate() {
            let generation = said.claimed_in.unwrap_or(-1).max(-1);
            for (name, partitions) in said.owned.iter().flatten() {
                let Some(topic) = line.topic_of(member, name) else { continue };
                let of_topic: &mut Vec<OwnerClaim> = &mut claims[topic];
                for partition in partitions.iter().filter_map(|number| line.partition(topic, *number)) {
                    of_topic.resize(line.partitions(topic) as usize, OwnerClaim::NONE);
                    of_topic[partition as usize].hear(member, generation);
                }
            }
        }
        Self { claims }
    }

    /// True if a member claims a partition of the topic.
    pub(in crate::assign) fn has_any(&self, topic: usize) -> bool {
        !self.claims[topic].is_empty()
    }

    /// The member that owns the partition.
    pub(in crate::assign) fn owner(&self, topic: usize, partition: u32) -> Option<usize> {
        self.claims[topic].get(partition as usize)?.owner()
    }
}

/// The best claim so far. One is kept for each partition, so it is small.
#[derive(Debug, Clone, Copy)]
struct OwnerClaim {
    /// The generation in which it was made; −2 before there is any.
    generation: i32,
    /// The first member that made it.
    member: u32,
    /// True if another member made it as well.
    is_contested: bool,
}

impl OwnerClaim {
    const NONE: Self = Self { generation: -2, member: u32::MAX, is_contested: false };

    fn hear(&mut self, member: usize, generation: i32) {
        let member = u32::try_from(member).expect("a line has fewer members than bytes");
        if generation > self.generation {
            *self = Self { generation, member, is_contested: false };
        } else if generation == self.generation && self.member != member {
            self.is_contested = true;
        }
    }

    fn owner(self) -> Option<usize> {
        let is_owned = self.generation > Self::NONE.generation && !self.is_contested;
        is_owned.then_some(self.member as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::super::input::Input;
    use super::*;

    fn owned(members: &str) -> Vec<Option<usize>> {
        let line = format!(r#"{{"topics":[["t",2]],"members":{members}}}"#);
        let input = Input::parse(line.as_bytes()).unwrap();
        let owners = Owners::of(&Checked::new(&input).unwrap());
        vec![owners.owner(0, 0), owners.owner(0, 1)]
    }

    #[test]
    fn the_later_generation_counts_and_equal_ones_cancel() {
        let claims = |generations: [i32; 3]| {
            let member = |(id, generation): (char, i32)| {
                format!(r#"{{"id":"{id}","topics":["t"],"owned":[["t",[0,0]]],"gen":{generation}}}"#)
            };
            let members: Vec<_> = ('a'..='c').zip(generations).map(member).collect();
            owned(&format!("[{}]", members.join(",")))[0]
        };
        assert_eq!(claims([3, 1, 2]), Some(0));
        assert_eq!(claims([1, 1, 2]), Some(2));
        assert_eq!(claims([2, 1, 2]), None);
        assert_eq!(claims([-5, -1, -2]), None);
    }

    #[test]
    fn what_does_not_exist_or_is_not_subscribed_to_is_not_owned() {
        let phantom = r#"[{"id":"a","topics":["t","gone"],"owned":[["t",[-1,1,2]],["gone",[0]]]}]"#;
        assert_eq!(owned(phantom), [None, Some(0)]);
        let left = r#"[{"id":"a","topics":[],"owned":[["t",[0,1]]]}]"#;
        assert_eq!(owned(left), [None, None]);
    }

    #[test]
    fn a_topic_of_which_nothing_is_claimed_costs_nothing() {
        let line = r#"{"topics":[["t",9],["u",9]],"members":[{"id":"a","topics":["t","u"],"owned":[["t",[9]],["u",[8]]]}]}"#;
        let input = Input::parse(line.as_bytes()).unwrap();
        let owners = Owners::of(&Checked::new(&input).unwrap());
        assert_eq!([0, 1].map(|topic| owners.has_any(topic)), [false, true]);
        assert_eq!([owners.owner(0, 8), owners.owner(1, 8), owners.owner(1, 0)], [None, Some(0), None]);
    }
}
