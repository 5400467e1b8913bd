//! Who owns what today, as far as members agree.

use super::checked::Checked;

/// By topic and partition: the member that owns it.
pub(super) type Owners = Vec<Vec<Option<usize>>>;

/// The owner by what the members claim, as Kafka sees it: of two claims that of the later generation counts, and
/// of two of one generation neither does. Partitions that do not exist and topics that the member is not subscribed
/// to are nobody's to claim.
pub(super) fn owners(line: &Checked<'_>) -> Owners {
    let topics = &line.input.topics;
    let mut claims: Vec<Vec<Claim>> =
        topics.iter().map(|topic| vec![Claim::NONE; topic.1 as usize]).collect();
    for (member, said) in line.input.members.iter().enumerate() {
        let generation = said.claimed_in.unwrap_or(-1).max(-1);
        for (name, partitions) in said.owned.iter().flatten() {
            let Some(topic) = line.topic_of(member, name) else { continue };
            for partition in partitions.iter().filter_map(|number| line.partition(topic, *number)) {
                claims[topic][partition as usize].hear(member, generation);
            }
        }
    }
    claims.into_iter().map(|claims| claims.into_iter().map(|claim| claim.owner).collect()).collect()
}

/// The best claim so far.
#[derive(Debug, Clone, Copy)]
struct Claim {
    /// In which generation it was made; −2 before there is any.
    generation: i32,
    /// Who made it; nobody where two did.
    owner: Option<usize>,
    last: usize,
}

impl Claim {
    const NONE: Self = Self { generation: -2, owner: None, last: usize::MAX };

    fn hear(&mut self, member: usize, generation: i32) {
        if generation > self.generation {
            *self = Self { generation, owner: Some(member), last: member };
        } else if generation == self.generation && self.last != member {
            self.owner = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::input::Input;
    use super::*;

    fn owned(members: &str) -> Vec<Option<usize>> {
        let line = format!(r#"{{"topics":[["t",2]],"members":{members}}}"#);
        let input = Input::parse(line.as_bytes()).unwrap();
        owners(&Checked::new(&input).unwrap()).remove(0)
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
}
