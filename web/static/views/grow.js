// Adds machines to a cluster.
import { ask } from '../api.js';
import { confirmed } from '../dialog.js';
import { el } from '../dom.js';
import { money, nb, problem } from '../show.js';

const runs = (c) => c.members.filter((m) => m.status === 'running').length;

// grows reports whether machines can be added to a cluster now: torchrun knows their number from its start.
export const grows = (c) => c.state !== 'buying' && runs(c) > 0 && c.type !== 'torch' && c.members.length < 64;

// growButton asks how many machines shall run, and orders those that are missing. now is the cluster; it is drawn by draw, and failure shows what
// went wrong.
export function growButton(path, signal, now, draw, failure) {
  const button = el('button', { type: 'button', class: 'btn', on: { click: async () => {
    const c = now();
    failure.replaceChildren();
    const wanted = el('input', { type: 'number', id: 'grow-nodes', min: runs(c) + 1, max: 64 - c.members.length + runs(c), value: runs(c) + 1 });
    const yes = await confirmed({
      title: 'Add machines?', yes: 'Add machines',
      body: el('div', { class: 'stack-12' }, el('div', { class: 'stack' }, el('label', { for: 'grow-nodes' }, 'Machines that run then'), wanted),
        el('p', {}, 'The new ones get the same job, for the time that is left, at most at ', money(c.maxPricePerGpuHour, `${nb}/h`), ' for each GPU. What they can cost at most is reserved.')),
    });
    if (!yes) return;
    button.disabled = true;
    try {
      for (let status = 202; status !== 200;) {
        const answer = await ask('POST', `${path}/scale`, { body: { nodes: wanted.valueAsNumber }, signal });
        ({ status } = answer);
        draw(answer.body);
      }
    } catch (err) {
      if (!signal.aborted) failure.replaceChildren(problem(err, 'No machine was added'));
    }
    button.disabled = false;
  } } }, 'Add machines');
  return button;
}
