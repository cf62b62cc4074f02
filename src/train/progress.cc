#include "train/progress.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace shoal {

using namespace std::chrono_literals;

namespace {

constexpr std::size_t kRecentMax = 32;
constexpr Duration kRecentApart = 250ms;
constexpr Duration kRedrawApart = 100ms;
constexpr Duration kLinesApartMin = 1s;
constexpr Duration kLinesApartMax = 60s;

// Carriage return, and clear to the end of the line.
constexpr std::string_view kErase = "\r\x1b[K";

double median(std::vector<double> values) {
  if (values.empty()) return kUnknown;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

// Three significant digits with a letter for the thousands.
std::string scaled(double n, std::span<const char* const> units) {
  if (!std::isfinite(n)) return "?";
  std::size_t unit = 0;
  // 999.5 would be shown as 1000.
  while (std::abs(n) >= 999.5 && unit + 1 < units.size()) {
    n /= 1000;
    ++unit;
  }
  const int digits = unit == 0 || std::abs(n) >= 99.95 ? 0 : std::abs(n) >= 9.995 ? 1 : 2;
  return fmt::format("{:.{}f}{}", n, digits, units[unit]);
}

std::string loss_text(double loss) {
  if (std::isnan(loss)) return "-";
  return std::abs(loss) >= 1e-3 && std::abs(loss) < 1e4 ? fmt::format("{:.4f}", loss)
                                                        : fmt::format("{:.2e}", loss);
}

std::string percent(double share) {
  return std::isnan(share) ? "-" : fmt::format("{:.2f} %", 100 * share);
}

std::string of(std::uint64_t at, std::uint64_t all) {
  return all == 0 ? std::to_string(at) : fmt::format("{}/{}", at, all);
}

// A field of the line and its priority: fields with large numbers are omitted first.
struct Field {
  int order;
  std::string text;
};

std::string join(std::vector<Field> fields, std::size_t width) {
  const auto length = [&] {
    std::size_t n = 0;
    for (const Field& f : fields) n += f.text.size() + (n == 0 ? 0 : 2);
    return n;
  };
  while (fields.size() > 1 && length() > width)
    fields.erase(std::ranges::max_element(fields, {}, &Field::order));
  std::string line;
  for (const Field& f : fields) line += (line.empty() ? "" : "  ") + f.text;
  return line.substr(0, width);
}

}  // namespace

std::string short_count(double n) {
  constexpr std::array kUnits = {"", "k", "M", "G", "T"};
  return scaled(n, kUnits);
}

std::string short_bytes(Bytes bytes) {
  constexpr std::array kUnits = {" B", " kB", " MB", " GB", " TB", " PB"};
  return scaled(static_cast<double>(bytes.value()), kUnits);
}

std::string short_duration(double seconds) {
  if (!(seconds >= 0) || seconds > 1e9) return "?";
  const auto s = static_cast<std::uint64_t>(seconds + 0.5);
  if (s < 3600) return fmt::format("{}:{:02}", s / 60, s % 60);
  return fmt::format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60);
}

std::string ProgressText::step(const ProgressNow& now) {
  if (!start_) start_ = now.time;
  note(now);
  const Duration apart = screen_.terminal ? kRedrawApart
                                          : std::clamp<Duration>((now.time - *start_) / 10,
                                                                 kLinesApartMin, kLinesApartMax);
  if (printed_ && now.time - *printed_ < apart) return {};
  printed_ = now.time;
  if (!screen_.terminal) return live_line(now) + "\n";
  live_ = true;
  return std::string(kErase) + live_line(now);
}

std::string ProgressText::erase() {
  const bool live = std::exchange(live_, false);
  return live ? std::string(kErase) : std::string();
}

std::string ProgressText::line(std::string_view text) { return erase().append(text).append("\n"); }

std::string ProgressText::epoch_end(const EpochRow& row, std::uint64_t epochs) {
  std::string text =
      fmt::format("epoch {} done  loss {}", of(row.epoch, epochs), loss_text(row.train_loss));
  if (!std::isnan(row.train_accuracy))
    text += fmt::format("  accuracy {}", percent(row.train_accuracy));
  if (!std::isnan(row.test_loss)) text += fmt::format("  test loss {}", loss_text(row.test_loss));
  if (!std::isnan(row.test_accuracy))
    text += fmt::format("  test accuracy {}", percent(row.test_accuracy));
  if (!std::isnan(row.samples_per_s))
    text += fmt::format("  {} samples/s", short_count(row.samples_per_s));
  return line(text + fmt::format("  {:.1f} s", row.seconds));
}

std::string ProgressText::end() { return erase(); }

void ProgressText::note(const ProgressNow& now) {
  if (!recent_.empty() && now.time - recent_.back().time < kRecentApart) return;
  // A run that was reset to a checkpoint counts from there.
  if (!recent_.empty() && (now.step < recent_.back().step || now.samples < recent_.back().samples))
    recent_.clear();
  recent_.push_back(now);
  if (recent_.size() > kRecentMax) recent_.pop_front();
}

ProgressText::Rates ProgressText::rates() const {
  std::vector<double> steps;
  std::vector<double> samples;
  for (std::size_t i = 1; i < recent_.size(); ++i) {
    const ProgressNow& a = recent_[i - 1];
    const ProgressNow& b = recent_[i];
    const double s = seconds(b.time - a.time);
    steps.push_back(static_cast<double>((b.step - a.step).value()) / s);
    samples.push_back(static_cast<double>(b.samples - a.samples) / s);
  }
  Rates rates;
  rates.steps_per_s = median(std::move(steps));
  rates.samples_per_s = median(std::move(samples));
  if (recent_.size() >= 2) {
    const double waited = recent_.back().wait_s - recent_.front().wait_s;
    const double computed = recent_.back().compute_s - recent_.front().compute_s;
    if (waited >= 0 && computed >= 0 && waited + computed > 0)
      rates.waiting = waited / (waited + computed);
  }
  return rates;
}

std::string ProgressText::live_line(const ProgressNow& now) const {
  const Rates recent = rates();
  std::vector<Field> fields;
  if (now.epoch > 0) fields.push_back({3, fmt::format("epoch {}", of(now.epoch, now.epochs))});
  fields.push_back({0, fmt::format("step {}", of(now.step.value(), now.steps.value()))});
  fields.push_back({1, fmt::format("loss {}", loss_text(now.loss))});
  if (!std::isnan(now.accuracy))
    fields.push_back({4, fmt::format("accuracy {}", percent(now.accuracy))});
  if (!std::isnan(recent.samples_per_s))
    fields.push_back({5, fmt::format("{} samples/s", short_count(recent.samples_per_s))});
  if (!std::isnan(recent.waiting))
    fields.push_back({6, fmt::format("waiting {:.0f} %", 100 * recent.waiting)});
  if (now.bytes_sent > Bytes(0))
    fields.push_back({7, fmt::format("sent {}", short_bytes(now.bytes_sent))});
  double left = std::isnan(now.left_s) ? kUnknown : std::max(0.0, now.left_s);
  if (now.steps > now.step && recent.steps_per_s > 0)
    left =
        std::fmin(left, static_cast<double>((now.steps - now.step).value()) / recent.steps_per_s);
  if (!std::isnan(left)) fields.push_back({2, fmt::format("{} left", short_duration(left))});
  // The last column stays free: some terminals wrap when it is filled.
  const std::size_t width =
      screen_.terminal ? std::max<std::size_t>(screen_.width, 20) - 1 : std::string::npos;
  return join(std::move(fields), width);
}

std::string epoch_table(std::span<const EpochRow> rows) {
  if (rows.empty()) return {};
  std::vector<std::vector<std::string>> cells = {{"epoch", "train loss", "train accuracy",
                                                  "test loss", "test accuracy", "samples/s",
                                                  "seconds"}};
  for (const EpochRow& r : rows)
    cells.push_back({std::to_string(r.epoch), loss_text(r.train_loss), percent(r.train_accuracy),
                     loss_text(r.test_loss), percent(r.test_accuracy),
                     std::isnan(r.samples_per_s) ? "-" : short_count(r.samples_per_s),
                     fmt::format("{:.1f}", r.seconds)});
  std::string table;
  for (const std::vector<std::string>& row : cells) {
    for (std::size_t c = 0; c < row.size(); ++c) {
      std::size_t width = 0;
      for (const auto& other : cells) width = std::max(width, other[c].size());
      table += fmt::format("{}{:>{}}", c == 0 ? "" : "  ", row[c], width);
    }
    table += '\n';
  }
  return table;
}

}  // namespace shoal
