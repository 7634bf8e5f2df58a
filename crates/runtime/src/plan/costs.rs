//! Finds budgets of money that cannot hold, because nobody would know what a session costs.
//!
//! A limit that could never hold is an error before any agent runs. One that holds for some sessions only is a
//! warning.

use windlass_core::graph::workflow::{Node, NodeKind, WorkflowNode};
use windlass_core::price::PriceTable;
use windlass_core::run::DayLimit;
use windlass_core::spec::{SessionSettings, Spec};
use windlass_core::usage::dollars;
use windlass_peers::agent::Agents;

use super::each_once;
use crate::user_error::{ProblemPart, UserError, UserErrorKind};

/// The budgets of a run that do not count the cost of some sessions.
#[derive(Debug, Default)]
pub(crate) struct UncountedCosts {
    /// Limits that could never hold.
    errors: Vec<ProblemPart>,
    /// Limits that hold for a part of what they should limit.
    warnings: Vec<ProblemPart>,
}

impl UncountedCosts {
    /// Returns the warnings, or an error if a limit could never hold.
    pub(crate) fn refuse(self) -> Result<Vec<ProblemPart>, UserError> {
        match self.errors.is_empty() {
            true => Ok(each_once(self.warnings.into_iter())),
            false => {
                let parts = each_once(self.errors.into_iter());
                Err(UserError { class: UserErrorKind::Configuration, parts, hint: None })
            }
        }
    }
}

/// Looks for budgets of money over sessions whose cost nobody would know.
pub(crate) fn uncounted(agents: &Agents, spec: &Spec, days: &[DayLimit]) -> UncountedCosts {
    let mut found = UncountedCosts::default();
    let looking = Looking { agents, spec, days };
    looking.part(spec, &mut Vec::new(), None, &mut found);
    found
}

struct Looking<'a> {
    agents: &'a Agents,
    spec: &'a Spec,
    days: &'a [DayLimit],
}

/// The part of a driver in a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SessionPart {
    /// It runs the session.
    Certain,
    /// It may run the session: another driver gives it the work, or an input names it.
    Possible,
}

impl Looking<'_> {
    /// Looks at the nodes of a workflow. `path` has the workflows around it, and `around` the budget.
    fn part<'s>(
        &'s self,
        part: &'s Spec,
        path: &mut Vec<&'s str>,
        around: Option<&str>,
        found: &mut UncountedCosts,
    ) {
        if path.contains(&part.workflow.as_str()) {
            return;
        }
        path.push(&part.workflow);
        let own = part.budget.cost_usd.map(|most| format!("the budget of {} of the run", dollars(most)));
        self.nodes(part, &part.body, path, own.as_deref().or(around), found);
        path.pop();
    }

    fn nodes<'s>(
        &'s self,
        part: &'s Spec,
        body: &'s [Node],
        path: &mut Vec<&'s str>,
        around: Option<&str>,
        found: &mut UncountedCosts,
    ) {
        for node in body {
            let of_node = |most: f64| format!("the budget of {} of node `{}`", dollars(most), node.id);
            let own = node.budget.cost_usd.map(of_node);
            let limit = own.as_deref().or(around);
            if let Some(settings) = part.sessions.get(&node.id) {
                self.session(settings, &part.prices, limit, found);
            }
            if let NodeKind::Workflow(WorkflowNode { name, .. }) = &node.kind
                && let Some(called) = self.spec.others.get(name)
            {
                self.part(called, path, limit, found);
            }
            node.kind.blocks().iter().for_each(|block| self.nodes(part, block.body, path, limit, found));
        }
    }

    fn session(
        &self,
        settings: &SessionSettings,
        prices: &PriceTable,
        limit: Option<&str>,
        found: &mut UncountedCosts,
    ) {
        let choices = settings.choice.iter().flat_map(|choice| choice.settings.values());
        let own = if settings.choice.is_some() { SessionPart::Possible } else { SessionPart::Certain };
        let others = choices.chain(&settings.fallback).map(|other| (other, SessionPart::Possible));
        for (settings, role) in std::iter::once((settings, own)).chain(others) {
            let Some((cause, hint)) = self.unknown_cost(settings, prices) else { continue };
            if let Some(limit) = limit {
                let text = format!("{limit} does not count the cost of driver {cause}");
                found.add(role, text, &hint);
            }
            for day in self.days.iter().filter(|day| day.budget.cost_usd.is_some()) {
                let driver = &settings.driver.name;
                let limit = format!("the budget `{}.cost`", day.setting());
                let text = format!("{limit} does not count the cost of driver {cause}");
                match &day.driver {
                    Some(only) if only == driver => found.add(role, text, &hint),
                    Some(_) => {}
                    // It limits the other drivers.
                    None => found.add(SessionPart::Possible, text, &hint),
                }
            }
        }
    }

    /// Says why nobody would know the cost of a session, and what to do. Returns `None` if the CLI reports it or a
    /// price is known.
    fn unknown_cost(&self, settings: &SessionSettings, prices: &PriceTable) -> Option<(String, String)> {
        let driver = &settings.driver.name;
        let can = self.agents.capabilities(driver);
        if can.cost {
            return None;
        }
        let named =
            settings.models.iter().map(|model| model.0.as_str()).chain(settings.driver.model.as_deref());
        let unpriced = named.clone().find(|model| prices.of(Some(model)).is_none());
        let is_known = match named.clone().next() {
            Some(_) => unpriced.is_none(),
            // The CLI chooses the model and reports which, so one of the prices may be the right one.
            None if can.reports_model => !prices.is_empty(),
            None => prices.of(None).is_some(),
        };
        if is_known {
            return None;
        }
        let instead = "or limit tokens or turns instead";
        Some(match unpriced {
            Some(model) => (
                format!("`{driver}`: it reports no cost, and model `{model}` has no price"),
                format!("set its price in the table `[prices.\"{model}\"]` of your settings, {instead}"),
            ),
            None => (
                format!("`{driver}`: it reports no cost, and the model that it chooses has no price"),
                format!(
                    "choose a model and set its price in the table `[prices.\"MODEL\"]` of your settings, set one for \
                     `[prices.\"*\"]`, {instead}"
                ),
            ),
        })
    }
}

impl UncountedCosts {
    fn add(&mut self, role: SessionPart, text: String, hint: &str) {
        let list = match role {
            SessionPart::Certain => &mut self.errors,
            SessionPart::Possible => &mut self.warnings,
        };
        list.push(ProblemPart::Plain { text, hint: Some(hint.to_owned()) });
    }
}
