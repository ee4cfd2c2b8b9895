// The steps of an audit, each with its transaction.
import { el } from '../dom.js';
import { table } from '../table.js';

// verdict says whether all of them add up.
export const verdict = (ok) => el('p', { role: 'status', class: ok ? 'verdict good' : 'verdict bad' }, ok ? 'Everything adds up.' : 'NOT everything adds up: see the steps below.');

export const steps = (all, caption) => table('Steps', caption, ['What', 'When', 'Adds up', 'Figures *', 'Transaction *'], all.map((s) => [
  s.name, s.time && new Date(s.time).toLocaleString(), s.ok ? el('span', { class: 'badge verified' }, 'yes') : el('span', { class: 'badge bad' }, 'no'),
  [s.text, s.problems?.length > 0 && el('ul', {}, s.problems.map((p) => el('li', {}, p)))], s.transaction && el('code', {}, s.transaction)]));
