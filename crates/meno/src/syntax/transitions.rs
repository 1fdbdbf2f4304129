//! The arc-hybrid transition system (Kuhlmann, Gómez-Rodríguez and Satta, 2011) and its dynamic oracle (Goldberg and
//! Nivre, 2013).
//!
//! The stack begins with the root, number 0; words are 1, 2, 3 and so on. *Shift* moves the next word onto the
//! stack; *left* makes the next word the head of the top of the stack, *right* makes the one below its head; both take
//! the top off. The root takes one child, the last word left, so the result is always a tree with one root, after
//! twice as many steps as there are words.

/// A step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    Shift,
    Left,
    Right,
}

impl Action {
    pub(super) const ALL: [Action; 3] = [Action::Shift, Action::Left, Action::Right];
}

/// A parse under way.
#[derive(Clone, Debug, Default)]
pub(crate) struct Configuration {
    stack: Vec<u32>,
    /// The next word.
    next: u32,
    n_words: u32,
    /// For each word its head and relation so far, and its outermost children; place 0 belongs to the root.
    nodes: Vec<Node>,
}

/// What is known of a word.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Node {
    pub head: u32,
    pub relation: u8,
    /// The outermost child on each side, 0 for none.
    pub left: u32,
    pub right: u32,
}

impl Configuration {
    /// Begins with a sentence.
    pub(super) fn begin(&mut self, n_words: usize) {
        self.stack.clear();
        self.stack.push(0);
        self.next = 1;
        self.n_words = n_words as u32;
        self.nodes.clear();
        self.nodes.resize(n_words + 1, Node::default());
    }

    pub(super) fn is_done(&self) -> bool {
        self.next > self.n_words && self.stack.len() == 1
    }

    /// The word this deep in the stack, 0 for the root.
    pub(super) fn stacked(&self, depth: usize) -> Option<u32> {
        self.stack.len().checked_sub(depth + 1).map(|at| self.stack[at])
    }

    /// The next word.
    pub(super) fn next(&self) -> Option<u32> {
        (self.next <= self.n_words).then_some(self.next)
    }

    pub(super) fn node(&self, word: u32) -> &Node {
        &self.nodes[word as usize]
    }

    /// Which of the actions may be taken; at least one as long as the parse is not done.
    pub(super) fn allowed(&self) -> [bool; 3] {
        let (depth, more) = (self.stack.len(), self.next <= self.n_words);
        [more, more && depth > 1, depth > 2 || depth == 2 && !more]
    }

    /// The head and the child that an action joins.
    pub(super) fn arc(&self, action: Action) -> Option<(u32, u32)> {
        let child = *self.stack.last()?;
        match action {
            Action::Shift => None,
            Action::Left => Some((self.next, child)),
            Action::Right => Some((self.stacked(1)?, child)),
        }
    }

    /// Takes an allowed action; the relation is for the arc, if it makes one.
    pub(super) fn take(&mut self, action: Action, relation: u8) {
        let Some((head, child)) = self.arc(action) else {
            self.stack.push(self.next);
            self.next += 1;
            return;
        };
        self.stack.pop();
        let node = &mut self.nodes[child as usize];
        (node.head, node.relation) = (head, relation);
        let parent = &mut self.nodes[head as usize];
        *if child < head { &mut parent.left } else { &mut parent.right } = child;
    }

    /// How many arcs of the tree `heads` each action puts out of reach; `u32::MAX` if it is not allowed.
    ///
    /// Exact for trees without crossing arcs, a good guess for others. `heads[0]` is not read.
    pub(super) fn costs(&self, heads: &[u32]) -> [u32; 3] {
        let mut costs = [u32::MAX; 3];
        let allowed = self.allowed();
        let next = self.next;
        let in_buffer = |word: u32| word >= next;
        let top = *self.stack.last().expect("the root stays");
        if allowed[0] {
            let below = &self.stack[..self.stack.len() - 1];
            let head_lost = below.contains(&heads[next as usize]);
            let children = self.stack.iter().filter(|&&word| word != 0 && heads[word as usize] == next);
            costs[0] = u32::from(head_lost) + children.count() as u32;
        }
        if allowed[1] || allowed[2] {
            let buffer = &heads[(next as usize).min(heads.len())..];
            let children = buffer.iter().filter(|&&head| head == top).count() as u32;
            let head = heads[top as usize];
            if allowed[1] {
                let lost = Some(head) == self.stacked(1) || head > next;
                costs[1] = children + u32::from(lost);
            }
            if allowed[2] {
                costs[2] = children + u32::from(in_buffer(head));
            }
        }
        costs
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn following_costs_of_nothing_gives_the_tree() {
        let mut random = Random::new(5);
        let mut configuration = Configuration::default();
        for n in 1..40 {
            let heads = projective(n, &mut random);
            configuration.begin(n);
            while !configuration.is_done() {
                let costs = configuration.costs(&heads);
                let free: Vec<usize> = (0..3).filter(|&action| costs[action] == 0).collect();
                assert!(!free.is_empty(), "{heads:?} {configuration:?}");
                configuration.take(Action::ALL[free[random.below(free.len())]], 1);
            }
            let found: Vec<u32> = configuration.nodes.iter().map(|node| node.head).collect();
            assert_eq!(found, heads);
        }
    }

    /// Against trying out everything: from any configuration, the best tree within reach misses as many more arcs
    /// after an action as the action costs.
    #[test]
    fn costs_are_the_arcs_lost() {
        let mut random = Random::new(6);
        for round in 0..300 {
            let n = 2 + round % 5;
            let heads = projective(n, &mut random);
            let mut configuration = Configuration::default();
            configuration.begin(n);
            while !configuration.is_done() {
                let allowed = configuration.allowed();
                let costs = configuration.costs(&heads);
                let before = fewest_errors(&configuration, &heads);
                for action in (0..3).filter(|&action| allowed[action]) {
                    let mut after = configuration.clone();
                    after.take(Action::ALL[action], 1);
                    let lost = fewest_errors(&after, &heads) - before;
                    assert_eq!(costs[action], lost, "{action} {heads:?} {configuration:?}");
                }
                let some: Vec<usize> = (0..3).filter(|&action| allowed[action]).collect();
                configuration.take(Action::ALL[some[random.below(some.len())]], 1);
            }
        }
    }

    fn fewest_errors(configuration: &Configuration, heads: &[u32]) -> u32 {
        if configuration.is_done() {
            return (1..heads.len()).filter(|&word| configuration.nodes[word].head != heads[word]).count()
                as u32;
        }
        let allowed = configuration.allowed();
        let after = (0..3).filter(|&action| allowed[action]).map(|action| {
            let mut after = configuration.clone();
            after.take(Action::ALL[action], 1);
            fewest_errors(&after, heads)
        });
        after.min().expect("some action is allowed")
    }

    /// A random tree without crossing arcs: random actions make one.
    fn projective(n: usize, random: &mut Random) -> Vec<u32> {
        let mut configuration = Configuration::default();
        configuration.begin(n);
        while !configuration.is_done() {
            let allowed = configuration.allowed();
            let some: Vec<usize> = (0..3).filter(|&action| allowed[action]).collect();
            configuration.take(Action::ALL[some[random.below(some.len())]], 1);
        }
        configuration.nodes.iter().map(|node| node.head).collect()
    }
}
