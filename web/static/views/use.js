// What a lease uses and costs now, as its machine and the chain say.
import { events } from '../api.js';
import { el, figure, fill, simulated } from '../dom.js';
import { problem, usdc } from '../show.js';

const mebibytes = (n) => `${(n / 1048576).toFixed(1)} MiB`;
const of = (text, limit) => (limit ? `${text} of ${limit}` : text);

function gpu(g, i) {
  const parts = g.missing ? ['does not answer'] : [
    g.percent !== undefined && `${g.percent} % busy`, g.memoryUsedMib !== undefined && `${g.memoryUsedMib} of ${g.memoryMib} MiB`,
    g.temperatureC !== undefined && `${g.temperatureC} °C`, g.powerMilliwatts !== undefined && `${Math.round(g.powerMilliwatts / 1000)} W`];
  return figure(['GPU ', i, ' ', g.name], [parts.filter(Boolean).join(', ') || 'says nothing', ' ', g.simulated && simulated()]);
}

// use shows it while the view is shown.
export function use(lease, signal) {
  const box = el('div', {}, el('p', { class: 'note' }, 'Asking the machine.'));
  const follow = async () => {
    try {
      await events(`/page/leases/${encodeURIComponent(lease)}/use`, {}, signal, {
        use: (u) => fill(box, el('div', { class: 'figures' },
          figure('Processors busy', of(u.cpus.toFixed(2), u.cpuLimit)), figure('Memory', of(mebibytes(u.memoryBytes), u.memoryLimitBytes && mebibytes(u.memoryLimitBytes))),
          figure('Disk', of(mebibytes(u.diskBytes), u.diskLimitBytes && mebibytes(u.diskLimitBytes))),
          u.volumeSizeBytes && figure('Volume', of(mebibytes(u.volumeBytes ?? 0), mebibytes(u.volumeSizeBytes))),
          u.network && figure('Network', `${mebibytes(u.network.sentBytesPerSecond)}/s sent, ${mebibytes(u.network.receivedBytesPerSecond)}/s received`),
          u.gpus.map(gpu), figure('Costs', `${usdc(u.cost.usdcPerHour)} an hour`), figure('So far, at most', usdc(u.cost.owedUsdc)))),
        problem: (p) => fill(box, problem({ body: p })),
      });
    } catch (err) {
      if (!signal.aborted) fill(box, problem(err));
    }
    if (!signal.aborted) setTimeout(follow, 5000);
  };
  follow();
  return box;
}
