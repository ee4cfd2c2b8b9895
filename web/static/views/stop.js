// Stops a lease, after saying what that does.
import { ask } from '../api.js';
import { confirmed } from '../dialog.js';
import { describe, el, icon } from '../dom.js';
import { leaseMoney, texts } from '../money.js';
import { toast } from '../parts.js';
import { exact, money, problem, short, span } from '../show.js';
import { called } from './rename.js';

const live = ['awarded', 'running'];

// stopping are the leases that are being stopped: a view may be drawn anew meanwhile.
const stopping = new Set();

// stopButton is nothing where the lease is over. done draws the view anew; what goes wrong is shown in failure, which stays
// where it is when the button is drawn anew.
export function stopButton(l, failure, done) {
  if (!live.includes(l.status)) return null;
  const under = stopping.has(l.address);
  const button = el('button', { type: 'button', class: 'btn stop', 'data-key': `stop-${l.address}`, 'aria-label': `${under ? 'Stopping' : 'Stop'} lease ${l.address}` }, icon('stop', 's14'), under ? 'Stopping' : 'Stop');
  button.addEventListener('click', async () => {
    if (stopping.has(l.address)) return;
    const m = leaseMoney(l);
    const t = m && texts(m);
    const yes = await confirmed({
      title: 'Stop this lease?', yes: 'Stop the lease', danger: true,
      body: el('div', {}, el('p', {}, 'Its job ends at once, and what is not saved elsewhere is lost. A lease that is stopped cannot be started again.'),
        describe(['Lease', [called(l), ' ', el('code', {}, short(l.address))]], ['Used so far', [span(l.usedSeconds), t && [', ', money(t.used)]]], ...(t ? [['Comes back to the credits', el('strong', {}, money(t.back))], ['Of what was reserved', money(t.whole)]] : []))),
    });
    if (!yes) return;
    stopping.add(l.address);
    failure.replaceChildren();
    try {
      await done(true);
      const { body } = await ask('POST', `/v1/leases/${encodeURIComponent(l.address)}/stop`);
      toast(`The lease is ${body.status}: ${exact(body.costAtMost)} used at most.`);
    } catch (err) {
      if (err.name !== 'AbortError') failure.replaceChildren(problem(err));
    }
    stopping.delete(l.address);
    try {
      await done(true);
    } catch { /* the next round says it */ }
  });
  return button;
}
