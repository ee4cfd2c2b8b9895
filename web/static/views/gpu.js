// The controls of a form for a GPU model and for its price.
import { choice, el } from '../dom.js';
import { exact } from '../show.js';

// tried is the model of the market on which a template is tried.
export const tried = (m, t) => m.models.find((x) => x.name.includes(t.try.gpu))?.name;

// gpuAndPrice are the models of the market, and a price that follows the reference price of the one that is chosen.
export function gpuAndPrice(m, chosen) {
  const gpu = choice('gpu', m.models.map((x) => [x.name, `${x.name} (reference ${exact(x.referencePrice)})`]), chosen);
  const price = el('input', { name: 'price', required: true, inputmode: 'decimal', autocomplete: 'off', maxlength: 24 });
  const follow = () => {
    price.value = m.models.find((x) => x.name === gpu.value)?.referencePrice ?? '';
  };
  gpu.addEventListener('change', follow);
  follow();
  return { gpu, price };
}
