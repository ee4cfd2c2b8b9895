// The steps of an audit as a line of time, and what they come to.
import { el, fill, icon, svg } from '../dom.js';
import { moneyBar } from '../figures.js';
import { address, card } from '../parts.js';
import { amount, at, change, exact, micro, plural } from '../show.js';
import { folds } from './fold.js';
import { sentence, utcClock, utcDay } from './words.js';

// outcomes are the three that an audit, or a step, comes to: its colours, its mark, its words, and those of a step.
const outcomes = {
  right: ['', 'proof', 'check', 'Everything adds up', 'right'], wrong: ['bd', 'bad', 'x', 'Does not add up', 'wrong'], unknown: ['wn', 'warn', 'warn', 'Adds up as far as it can be read', 'not known'],
};

const shown = (outcome) => (Object.hasOwn(outcomes, outcome) ? outcomes[outcome] : outcomes.unknown); // a server of another version may have others

const crane = () => svg('svg', { width: 56, height: 56, viewBox: '0 0 56 56', 'aria-hidden': 'true' }, svg('circle', { class: 'f-proof', cx: 28, cy: 28, r: 20 }), svg('path', { class: 'k-card', 'stroke-width': 3, fill: 'none', d: 'M20 28.5l5.8 5.8 11-12' }));

// verdict says whether all of it adds up; the first step that does not is named.
export function verdict(outcome, { text, more, acts, steps: all = [] } = {}) {
  const [ground, colour, symbol, words] = shown(outcome);
  const wrong = all.findIndex((s) => s.outcome === 'wrong');
  return el('section', { class: `verdict ${ground}`.trim(), role: 'status' }, el('span', { class: colour }, outcome === 'right' ? crane() : icon(symbol, 's28')),
    el('div', {}, el('h2', { class: 'verdict-h' }, words, wrong >= 0 && ` at step ${wrong + 1}`), text && el('p', { class: 't2' }, text), ground === 'wn' && el('p', { class: 't2' }, 'The cluster’s node does not show all that happened: an archive node shows more. Nothing that was read is wrong.'), more), acts);
}

// names are the words of steps for people.
const names = { order: 'Reserved', award: 'Awarded', auction: 'Won the auction', start: 'Started', extend: 'Extended', verified: 'Verified by keepers', paid: 'Paid', end: 'Ended', abort: 'Never started', declined: 'Declined', close: 'Closed', sum: 'The sum', rated: 'Rated', dispute: 'Disputed', vote: 'Voted', verdict: 'Verdict' };

const seconds = (s) => Date.parse(s.time) / 1000;

// when is the time of a step, in UTC; its day is said where the step before had another one.
const when = (s, before) => {
  const [t, b] = [seconds(s), before ? seconds(before) : NaN];
  if (!Number.isFinite(t)) return el('span', { class: 'time' });
  return el('time', { class: 'time', datetime: s.time, title: at(t) }, Number.isFinite(b) && utcDay(b) !== utcDay(t) && el('span', { class: 'day' }, utcDay(t)), utcClock(t, true));
};

const kept = { reserved: '0', paid: '0', returned: '0' };

// moved is what the steps from one to another have done with the money, in the words of its owner: paid, come back, or put in.
function moved(all, from, to) {
  const after = all[to - 1].money;
  if (!after) return null;
  const before = all.slice(0, from).findLast((s) => s.money)?.money ?? kept;
  const more = (name) => (micro(after[name]) ?? 0n) - (micro(before[name]) ?? 0n);
  const [paid, returned] = [more('paid'), more('returned')];
  const put = more('reserved') + paid + returned;
  if (paid > 0n) return exact(amount(paid));
  if (returned > 0n) return change(-1, amount(returned));
  return put > 0n ? change(1, amount(put)) : null;
}

const sum = (text) => text && el('div', { class: 'medium', 'data-moved': '' }, text);

function one(all, i) {
  const s = all[i];
  const [, colour, symbol] = shown(s.outcome);
  return el('li', { id: `step-${i + 1}`, 'data-step': s.name }, when(s, all[i - 1]), el('span', { class: `mark ${colour}` }, icon(symbol), el('span', { class: 'unseen' }, shown(s.outcome)[4])),
    el('div', {}, el('div', { class: 'medium' }, Object.hasOwn(names, s.name) ? names[s.name] : s.name), el('div', { class: 't2 small text' }, sentence(s.text, seconds(s))),
      s.problems?.length > 0 && el('ul', { class: 'bad small' }, s.problems.map((p) => el('li', {}, sentence(p, seconds(s))))), s.unknown && el('p', { class: 'warn small' }, `Not known: ${s.unknown}`)),
    el('div', { class: 'barcell' }, s.money && moneyBar(s.money)), el('div', { class: 'sigcell' }, sum(moved(all, i, i + 1)), s.transaction && address(s.transaction, 'transaction', { kind: 'tx' })));
}

// many are equal neighbours in one line, which a button opens.
function many(all, { from, to, words }, open) {
  const last = all[to - 1];
  const transactions = new Set(all.slice(from, to).map((s) => s.transaction).filter(Boolean)).size;
  return el('li', { class: 'fold' }, when(all[from], all[from - 1]), el('span', { class: 'mark proof' }, icon('check'), el('span', { class: 'unseen' }, shown('right')[4])),
    el('div', {}, el('button', { type: 'button', class: 'link medium', 'aria-expanded': 'false', on: { click: open } }, words), Number.isFinite(seconds(last)) && el('div', { class: 't2 small' }, 'until ', when(last, all[from]))),
    el('div', { class: 'barcell' }, last.money && moneyBar(last.money)), el('div', { class: 'sigcell' }, sum(moved(all, from, to)), transactions > 0 && el('span', { class: 't3 small' }, plural(transactions, 'transaction'))));
}

// steps lists them, the first first; equal neighbours are folded until they are asked for.
export function steps(all) {
  const wrong = all.filter((s) => s.outcome !== 'right').length;
  const parts = folds(all);
  const list = el('ol', { class: 'tl' });
  const each = ({ from, to }) => all.slice(from, to).map((_, k) => one(all, from + k));
  const draw = () => fill(list, parts.map((p) => (p.words ? many(all, p, () => {
    delete p.words;
    draw();
    const first = document.getElementById(`step-${p.from + 1}`);
    first?.setAttribute('tabindex', '-1');
    first?.focus();
  }) : each(p))));
  draw();
  return card({ name: 'Steps', count: all.length, end: [wrong === 0 ? 'all checked' : `${plural(wrong, 'step')} not right or not known`, el('span', { class: 't3' }, 'times are UTC')] }, list);
}
