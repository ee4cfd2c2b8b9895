// The output of a lease's job, as it comes.
import { events } from '../api.js';
import { el, icon, say } from '../dom.js';
import { problem } from '../show.js';

// most is how many characters are shown; the command shows all.
const most = 200_000;

// plain leaves out what a terminal would obey.
export const plain = (text) => text.replace(/\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b./g, '').replace(/[^\n\t\x20-\x7e\u00a0-\uffff]/g, '');

export function logs(lease, signal) {
  const out = el('pre', { class: 'logs', tabindex: 0, role: 'region', 'aria-label': 'Output of the job' });
  const state = el('span', { class: 't3 small' }, 'Reading.');
  let last = '0';
  const show = (text) => {
    const low = out.scrollTop + out.clientHeight >= out.scrollHeight - 4;
    out.append(plain(text));
    if (out.textContent.length > most) out.textContent = out.textContent.slice(-most / 2);
    if (low) out.scrollTop = out.scrollHeight;
  };
  const follow = async () => {
    let ended = false;
    try {
      await events(`/v1/leases/${encodeURIComponent(lease)}/logs?follow=true`, { 'Last-Event-ID': last }, signal, {
        output: ({ text }, id) => {
          last = id;
          state.textContent = 'It is shown as it comes.';
          show(text);
        },
        end: () => {
          ended = true;
          state.textContent = 'The output is complete.';
        },
        problem: (p) => state.replaceChildren(problem({ body: p })),
      });
    } catch (err) {
      if (!signal.aborted) state.replaceChildren(problem(err));
    }
    if (!ended && !signal.aborted) setTimeout(follow, 3000);
  };
  follow();
  const bar = el('div', { class: 'row log-bar' }, state, el('button', { type: 'button', class: 'icon-btn end', 'aria-label': 'Copy the log', title: 'Copy the log', on: { click: async () => {
    await navigator.clipboard.writeText(out.textContent).then(() => say('Copied'), () => say('The browser does not let this page copy'));
  } } }, icon('copy')));
  return el('div', {}, bar, out);
}
