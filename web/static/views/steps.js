// The steps of an audit, each with its transaction.
import { el } from '../dom.js';
import { table } from '../table.js';

// outcomes are the three that an audit, or a step, comes to: how it is shown, and in what words.
const outcomes = {
  right: ['good', 'yes', 'Everything adds up.'],
  wrong: ['bad', 'no', 'NOT everything adds up: see the steps below.'],
  unknown: ['warn', 'not known', 'NOT KNOWN whether everything adds up: the cluster’s node does not show all that happened. See the steps below.'],
};

// verdict says whether all of them add up.
const shown = (outcome) => outcomes[outcome] ?? outcomes.unknown; // a server of another version may have others

export const verdict = (outcome) => el('p', { role: 'status', class: `verdict ${shown(outcome)[0]}` }, shown(outcome)[2]);

export const steps = (all, caption) => table('Steps', caption, ['What', 'When', 'Adds up', 'Figures *', 'Transaction *'], all.map((s) => [
  s.name, s.time && new Date(s.time).toLocaleString(), el('span', { class: `badge ${shown(s.outcome)[0]}` }, shown(s.outcome)[1]),
  [s.text, s.problems?.length > 0 && el('ul', {}, s.problems.map((p) => el('li', {}, p))), s.unknown && el('p', { class: 'note' }, `Not known: ${s.unknown}`)],
  s.transaction && el('code', {}, s.transaction)]));
