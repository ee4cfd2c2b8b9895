// Stops a lease, after saying what that does.
import { ask } from '../api.js';
import { confirmed } from '../dialog.js';
import { describe, el, say } from '../dom.js';
import { amount, micro, problem, span, usdc } from '../show.js';

const live = ['awarded', 'running'];

// stopping are the leases that are being stopped: a view may be drawn anew meanwhile.
const stopping = new Set();

// stopButton is nothing where the lease is over. done draws the view anew; what goes wrong is shown in failure, which stays
// where it is when the button is drawn anew.
export function stopButton(l, failure, done) {
  if (!live.includes(l.status)) return null;
  const under = stopping.has(l.address);
  const button = el('button', { type: 'button', class: 'danger', 'data-key': `stop-${l.address}`, 'aria-label': `${under ? 'Stopping' : 'Stop'} lease ${l.address}` }, under ? 'Stopping' : 'Stop');
  button.addEventListener('click', async () => {
    if (stopping.has(l.address)) return;
    const [owed, paid, held] = [micro(l.costAtMost), micro(l.paid), micro(l.reserved)];
    const back = owed === null || paid === null || held === null ? null : held - (owed > paid ? owed - paid : 0n);
    const yes = await confirmed({
      title: 'Stop this lease?', yes: 'Stop the lease', no: 'Let it run', danger: true,
      body: el('div', {}, el('p', {}, 'Its job ends at once, and what is not saved elsewhere is lost. A lease that is stopped cannot be started again.'),
        describe(['Lease', el('code', {}, l.address)], ['Used so far', span(l.usedSeconds)], ['Costs so far, at most', usdc(l.costAtMost)],
          ['Comes back to the credits', back !== null && `about ${usdc(amount(back))}`])),
    });
    if (!yes) return;
    stopping.add(l.address);
    failure.replaceChildren();
    try {
      await done(true);
      const { body } = await ask('POST', `/v1/leases/${encodeURIComponent(l.address)}/stop`);
      say(`The lease is ${body.status}.`);
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
