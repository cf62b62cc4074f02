// Draws the charts of a report. All text goes into the page as text, never as markup.
(function () {
  'use strict';
  const data = JSON.parse(document.getElementById('data').textContent);
  const all = data.contestants;
  const shown = all.map(() => true);
  const charts = {};
  let against = 'time';

  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim();
  const color = (i) => css('c' + (i % 8));
  const dash = (i) => (i < 8 ? [] : i < 16 ? [6, 3] : [2, 3]);
  const faint = (c) => c + '2e';
  const AXIS = { time: ['s of training', 't'], epochs: ['epochs', 'e'], bytes: ['sent by a worker', 'b'] };

  function bytesText(b) {
    const units = ['B', 'kB', 'MB', 'GB', 'TB', 'PB'];
    let u = 0;
    while (b >= 999.5 && u + 1 < units.length) { b /= 1000; ++u; }
    return Number(b.toPrecision(3)) + ' ' + units[u];
  }
  const timeText = (s) => (s < 0.0995 ? Number((1e3 * s).toPrecision(3)) + ' ms' : Number(s.toPrecision(3)) + ' s');
  const xText = (x) => (against === 'bytes' ? bytesText(x) : against === 'time' ? timeText(x) : Number(x.toPrecision(3)));
  const yText = (y) => (data.accuracy ? Number((100 * y).toPrecision(3)) + ' %' : Number(y.toPrecision(3)));

  function scale(title, more) {
    const base = {
      grid: { color: css('grid'), borderColor: css('line') },
      ticks: { color: css('soft'), maxRotation: 0, autoSkipPadding: 14 },
      title: { display: Boolean(title), text: title, color: css('soft') },
    };
    const result = Object.assign(base, more);
    if (more && more.tick) result.ticks = Object.assign(base.ticks, { callback: more.tick });
    return result;
  }
  function tooltip(callbacks) {
    return {
      backgroundColor: css('ink'), titleColor: css('card'), bodyColor: css('card'), padding: 9,
      filter: (item) => !item.dataset.band, callbacks: callbacks,
    };
  }
  function common(more) {
    return Object.assign({ animation: false, responsive: true, maintainAspectRatio: false }, more);
  }
  const legendOf = (on) => ({
    display: on, position: 'bottom', labels: { color: css('soft'), boxWidth: 12, boxHeight: 12 },
  });

  // Says in the page what was drawn, for whoever checks it.
  function draw(id, config) {
    const canvas = document.getElementById(id);
    if (charts[id]) charts[id].destroy();
    charts[id] = new Chart(canvas, config);
    let points = 0;
    charts[id].data.datasets.forEach((set, i) => { points += charts[id].getDatasetMeta(i).data.length; });
    canvas.dataset.points = points;
    canvas.dataset.state = 'drawn';
  }
  function leaveOut(id) {
    const canvas = document.getElementById(id);
    canvas.dataset.state = 'none';
    (canvas.closest('figure') || canvas.closest('.card')).hidden = true;
  }

  // A few values far above all others, as of a run that diverges at first, would press the rest flat: those leave the
  // frame.
  function top(field) {
    const values = all.filter((c, i) => shown[i]).flatMap((c) => c[field].map((p) => p.v)).sort((a, b) => a - b);
    const high = values[Math.floor(0.97 * (values.length - 1))];
    return values[values.length - 1] > 3 * high ? 1.2 * high : undefined;
  }

  function curve(id, field, y) {
    if (!all.some((c) => c[field].length)) return leaveOut(id);
    const key = AXIS[against][1];
    const sets = [];
    all.forEach((c, i) => {
      if (!shown[i] || !c[field].length) return;
      const at = (v) => c[field].map((p) => ({ x: p[key], y: p[v] }));
      const few = c[field].length < 30;
      sets.push({
        label: c.label, data: at('v'), borderColor: color(i), backgroundColor: color(i), borderDash: dash(i),
        borderWidth: 2, pointRadius: few ? 3 : 0, pointHitRadius: 8, tension: 0,
      });
      if (c.runs < 2) return;
      const band = { band: true, borderWidth: 0, pointRadius: 0, pointHitRadius: 0, backgroundColor: faint(color(i)) };
      sets.push(Object.assign({ label: c.label, data: at('h'), fill: '+1' }, band));
      sets.push(Object.assign({ label: c.label, data: at('l'), fill: false }, band));
    });
    const title = (items) => (items.length ? xText(items[0].parsed.x) : '');
    const label = (item) => item.dataset.label + ': ' + y.text(item.parsed.y);
    draw(id, {
      type: 'line', data: { datasets: sets },
      options: common({
        interaction: { mode: 'nearest', intersect: false },
        plugins: { legend: legendOf(false), tooltip: tooltip({ title: title, label: label }) },
        scales: {
          x: scale(AXIS[against][0], { type: 'linear', min: 0, tick: against === 'bytes' ? bytesText : undefined }),
          y: scale('', { type: y.type || 'linear', tick: y.text, max: y.clipped ? top(field) : undefined }),
        },
      }),
    });
  }

  const KINDS = [
    ['compute', 'computing'], ['overlap', 'computing, gradients under way'], ['wait', 'waiting'],
    ['update', 'updating'], ['rest', 'the rest'],
  ];
  function drawShares() {
    const rows = all.filter((c, i) => shown[i]);
    document.querySelector('.plot.bars').style.height = Math.max(150, 90 + 34 * rows.length) + 'px';
    draw('shares', {
      type: 'bar',
      data: {
        labels: rows.map((c) => c.label),
        datasets: KINDS.map(([kind, name]) => ({
          label: name, data: rows.map((c) => c.time[kind]), backgroundColor: css(kind), maxBarThickness: 22,
        })),
      },
      options: common({
        indexAxis: 'y',
        plugins: {
          legend: legendOf(true),
          tooltip: tooltip({ label: (item) => item.dataset.label + ': ' + timeText(item.parsed.x) }),
        },
        scales: { x: scale('s of training', { stacked: true }), y: scale('', { stacked: true, grid: { display: false } }) },
      }),
    });
  }

  function drawStaleness() {
    const rows = all.map((c, i) => [c, i]).filter(([c, i]) => c.staleness.length);
    if (!rows.length) return leaveOut('staleness');
    const bins = Math.max(...rows.map(([c]) => c.staleness.length));
    draw('staleness', {
      type: 'bar',
      data: {
        labels: Array.from({ length: bins }, (_, k) => (k === 63 ? '63+' : String(k))),
        datasets: rows.filter(([c, i]) => shown[i]).map(([c, i]) => ({
          label: c.label, backgroundColor: color(i), data: c.staleness.concat(Array(bins - c.staleness.length).fill(0)),
        })),
      },
      options: common({
        plugins: {
          legend: legendOf(false),
          tooltip: tooltip({ label: (item) => item.dataset.label + ': ' + (100 * item.parsed.y).toPrecision(3) + ' %' }),
        },
        scales: {
          x: scale('updates late', { grid: { display: false } }),
          y: scale('of all pushes', { tick: (v) => Math.round(100 * v) + ' %', beginAtZero: true }),
        },
      }),
    });
  }

  function drawTimeline() {
    const c = all[Number(document.getElementById('which').value)];
    const rows = c.timeline.rows;
    if (!rows.length) {
      document.getElementById('timeline').dataset.state = 'none';
      if (charts.timeline) charts.timeline.destroy();
      delete charts.timeline;
      document.getElementById('timeline-plot').hidden = true;
      return;
    }
    document.getElementById('timeline-plot').hidden = false;
    document.getElementById('timeline-plot').style.height = Math.max(140, 90 + 30 * rows.length) + 'px';
    const kinds = [['compute', 'computing'], ['wait', 'waiting'], ['update', 'updating'], ['send', 'under way']];
    const used = kinds.filter(([kind]) => c.timeline.bars.some((bar) => bar.kind === kind));
    draw('timeline', {
      type: 'bar',
      data: {
        labels: rows,
        datasets: used.map(([kind, name]) => ({
          label: name, backgroundColor: css(kind), borderColor: css('card'), borderWidth: { left: 1, right: 0 },
          grouped: false, maxBarThickness: 18, borderSkipped: false,
          data: c.timeline.bars.filter((bar) => bar.kind === kind).map((bar) => ({
            x: [1e3 * bar.begin, 1e3 * bar.end], y: rows[bar.row], name: bar.name,
          })),
        })),
      },
      options: common({
        indexAxis: 'y',
        plugins: {
          legend: legendOf(true),
          tooltip: tooltip({
            label: (item) => item.raw.name + ', ' + item.dataset.label + ': ' +
              timeText(1e-3 * (item.raw.x[1] - item.raw.x[0])),
          }),
        },
        scales: { x: scale('ms', { min: 0 }), y: scale('', { grid: { display: false } }) },
      }),
    });
  }

  const plain = { text: (v) => Number(v.toPrecision(3)) };
  function drawAll() {
    curve('score', 'score', { text: yText });
    curve('loss', 'loss', { text: plain.text, clipped: true });
    drawShares();
    drawStaleness();
    const positive = all.every((c) => c.disagreement.every((p) => p.v > 0));
    curve('consensus', 'disagreement', { text: plain.text, type: positive ? 'logarithmic' : 'linear' });
    drawTimeline();
  }

  function build() {
    const legend = document.getElementById('legend');
    const which = document.getElementById('which');
    all.forEach((c, i) => {
      const dot = document.createElement('span');
      dot.className = 'dot';
      dot.style.background = 'var(--c' + (i % 8) + ')';
      const button = document.createElement('button');
      button.type = 'button';
      button.setAttribute('aria-pressed', 'true');
      button.append(dot, c.label);
      button.addEventListener('click', () => {
        shown[i] = !shown[i];
        if (!shown.some(Boolean)) shown.fill(true);
        Array.from(legend.children).forEach((b, k) => b.setAttribute('aria-pressed', String(shown[k])));
        drawAll();
      });
      legend.append(button);
      const option = document.createElement('option');
      option.value = i;
      option.textContent = c.label;
      which.append(option);
    });
    legend.hidden = all.length < 2;
    which.addEventListener('change', drawTimeline);
    document.getElementById('score-name').textContent = data.accuracy ? 'Test accuracy' : 'Test loss';
    document.querySelectorAll('.choice button').forEach((button) => {
      button.addEventListener('click', () => {
        against = button.dataset.x;
        document.querySelectorAll('.choice button').forEach((b) => b.setAttribute('aria-pressed', String(b === button)));
        drawAll();
      });
    });
    window.matchMedia('(prefers-color-scheme: dark)').addEventListener('change', drawAll);
  }

  Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;
  build();
  drawAll();
  document.documentElement.dataset.report = 'ready';
})();
