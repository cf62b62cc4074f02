// The forms of co_await that we use, one coroutine each; see coroutine_forms_test.cc.
#pragma once

#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "runtime/channel.h"
#include "runtime/endpoint.h"
#include "runtime/task.h"
#include "runtime/task_group.h"
#include "support/inline_env.h"
#include "tracked.h"

namespace shoal::forms {

class Boom : public Error {
 public:
  Boom() : Error("boom") {}
};

// The course of a run: which of its waits ends with an exception, or with a cancellation.
struct Script {
  int throw_at = -1;
  int cancel_at = -1;
  int waits = 0;
  int scratch = 0;
  Signal go;
  InlineEnv env;
};

inline Task<> pause(Script& s) {
  const int number = s.waits++;
  co_await s.go.wait();
  if (number == s.throw_at) throw Boom();
}
inline Task<Tracked> make(Script& s, int value) {
  Tracked t(value);
  co_await pause(s);
  co_return t;
}
inline Task<int> read(Script& s, Tracked t) {
  co_await pause(s);
  co_return t.value();
}
inline Task<std::vector<Tracked>> make_many(Script& s, int count) {
  std::vector<Tracked> all;
  for (int i = 1; i <= count; ++i) all.push_back(co_await make(s, i));
  co_return all;
}
inline int sum(const Tracked& a, const Tracked& b) { return a.value() + b.value(); }

struct Holder {
  Tracked t;
  int extra = 0;
};
inline Task<int> read_holder(Script& s, Holder h) {
  co_await pause(s);
  co_return h.t.value() + h.extra;
}

// ---- the forms

inline Task<int> named_and_moved(Script& s) {
  Holder h{Tracked(3), 4};
  co_return co_await read_holder(s, std::move(h));
}
inline Task<int> temporary_argument(Script& s) { co_return co_await read(s, Tracked(5)); }
inline Task<int> initialization(Script& s) {
  const Tracked t = co_await make(s, 6);
  co_await pause(s);
  co_return t.value();
}
inline Task<int> bound_to_a_reference(Script& s) {
  const Tracked& t = co_await make(s, 6);
  co_await pause(s);
  co_return t.value();
}
inline Task<int> assignment(Script& s) {
  Tracked t(1);
  t = co_await make(s, 7);
  int n = 1;
  n += co_await read(s, t);
  co_return n;
}
inline Task<int> discarded(Script& s) {
  co_await make(s, 1);
  co_return 1;
}
inline Task<int> member_of_the_result(Script& s) { co_return (co_await make(s, 9)).value(); }
inline Task<Tracked> passed_on(Script& s) { co_return co_await make(s, 10); }
inline Task<int> returned(Script& s) { co_return (co_await passed_on(s)).value(); }
inline Task<int> several_arguments(Script& s) {
  co_return sum(co_await make(s, 1), co_await make(s, 2));
}
inline Task<int> nested_arguments(Script& s) {
  co_return co_await read(s, Tracked(co_await read(s, co_await make(s, 4))));
}
inline Task<int> into_a_container(Script& s) {
  std::vector<Tracked> all;
  all.push_back(co_await make(s, 1));
  all.emplace_back(co_await read(s, all.front()));
  co_return sum(all[0], all[1]);
}
inline Task<int> while_next(Script& s) {
  Channel<Tracked> channel;
  channel.push(Tracked(1));
  channel.push(Tracked(2));
  channel.close();
  int total = 0;
  while (auto t = co_await channel.next()) total += co_await read(s, *std::move(t));
  co_return total;
}
inline Task<int> range_for(Script& s) {
  int total = 0;
  for (const Tracked& t : co_await make_many(s, 3)) total += co_await read(s, t);
  co_return total;
}
// A condition with co_await declares its result. In a function without another local variable, any
// other condition that contains co_await makes g++ 12 mix up the parts of the frame.
inline Task<int> for_header(Script& s) {
  for (int i = co_await read(s, Tracked(0)); i < co_await read(s, Tracked(2)); ++i)
    s.scratch += co_await read(s, Tracked(i));
  co_return s.scratch;
}
inline Task<int> if_declares(Script& s) {
  if (const int n = co_await read(s, Tracked(3))) co_return n + co_await read(s, Tracked(n));
  co_return 0;
}
inline Task<int> if_with_initializer(Script& s) {
  if (const Tracked t = co_await make(s, 2); t.value() == co_await read(s, t)) {
    co_await pause(s);
    co_return t.value();
  }
  co_return 0;
}
inline Task<int> while_declares(Script& s) {
  while (const int n = co_await read(s, Tracked(3 - s.scratch))) s.scratch += n > 0 ? 1 : 0;
  co_return s.scratch;
}
inline Task<int> under_a_condition(Script& s) {
  if (s.scratch == 0) s.scratch = co_await read(s, Tracked(1));
  while (s.scratch < 3) s.scratch += co_await read(s, Tracked(1));
  co_return s.scratch;
}
inline Task<int> switched(Script& s) {
  const int which = co_await read(s, Tracked(2));
  switch (which) {
    case 1: co_return 1;
    case 2: co_return co_await read(s, Tracked(3));
    default: co_return 0;
  }
}
inline Task<int> and_or(Script& s) {
  const bool both = (co_await make(s, 1)).value() == 1 && (co_await make(s, 2)).value() == 2;
  const bool first = (co_await make(s, 1)).value() == 0 && (co_await make(s, 2)).value() == 2;
  const bool second = (co_await make(s, 1)).value() == 0 || (co_await make(s, 2)).value() == 2;
  co_return (both ? 1 : 0) + (first ? 2 : 0) + (second ? 4 : 0);
}
inline Task<> fail_after(Script& s, Tracked t) {
  co_await pause(s);
  if (t.value() > 0) throw Error("expected");
}
inline Task<int> try_and_catch(Script& s) {
  bool caught = false;
  try {
    const Tracked t = co_await make(s, 1);
    co_await fail_after(s, t);
  } catch (const Boom&) {
    throw;
  } catch (const Cancelled&) {
    throw;
  } catch (const Error&) {
    caught = true;
  }
  const Tracked after = co_await make(s, 5);
  co_return caught ? after.value() : 0;
}
inline Task<int> trivial_braces(Script& s) {
  const auto receive = [](Script& script, Tracked t, Match m) -> Task<int> {
    co_await pause(script);
    co_return t.value() + static_cast<int>(m.from.value() + m.tag.id);
  };
  co_return co_await receive(s, Tracked(1),
                             Match{.from = NodeId(2), .tag = Tag{GroupId(), Generation(), 3}});
}
inline Task<int> pointers(Script& s) {
  const auto own = [](Script& script, std::unique_ptr<Tracked> a, std::shared_ptr<Tracked> b,
                      std::string text) -> Task<int> {
    co_await pause(script);
    co_return sum(*a, *b) + static_cast<int>(text.size());
  };
  const std::string thirty(30, 'x');
  co_return co_await own(s, std::make_unique<Tracked>(1), std::make_shared<Tracked>(2),
                         thirty + "abc");
}
inline Task<int> lambda_by_reference(Script& s) {
  Tracked t(3);
  const auto call = [](auto f) -> Task<int> { co_return co_await f(4); };
  co_return co_await call([&](int k) -> Task<int> { co_return co_await read(s, t) + k; });
}
inline Task<int> lambda_named_first(Script& s) {
  const Tracked t(3);
  const auto call = [](auto f) -> Task<int> { co_return co_await f(4); };
  auto body = [&s, t](int k) -> Task<int> { co_return co_await read(s, t) + k; };
  co_return co_await call(std::move(body));
}
inline Task<int> lambda_called_with_arguments(Script& s) {
  co_return co_await [](Script& script, Tracked t) -> Task<int> {
    co_return co_await read(script, std::move(t));
  }(s, Tracked(8));
}
inline Task<> add_to(Script& s, Tracked t, int& total) { total += co_await read(s, std::move(t)); }
inline Task<int> group(Script& s) {
  int total = 0;
  const Tracked shared(10);
  co_await with_group([&](TaskGroup& g) -> Task<> {
    g.spawn(add_to(s, Tracked(1), total));
    g.spawn(add_to(s, shared, total));
    total += co_await read(s, co_await make(s, 100));
  });
  co_return total;
}
inline Task<int> raced(Script& s) {
  auto winner = co_await race(make(s, 1), read(s, Tracked(2)));
  co_return std::get<0>(winner).value();
}
inline Task<int> race_result_in_place(Script& s) {
  Channel<Tracked> empty;
  co_return static_cast<int>((co_await race(empty.next(), make(s, 1))).index());
}
inline Task<int> all_of_two(Script& s) {
  Channel<Tracked> a;
  Channel<Tracked> b;
  a.push(Tracked(1));
  const auto fill = [](Script& script, Channel<Tracked>& channel) -> Task<> {
    channel.push(co_await make(script, 2));
  };
  int total = 0;
  co_await with_group([&](TaskGroup& g) -> Task<> {
    g.spawn(fill(s, b));
    auto both = co_await all(a.next(), b.next());
    total = sum(*std::get<0>(both), *std::get<1>(both));
  });
  co_return total;
}
inline Task<int> with_timeout(Script& s) {
  s.env.manual = true;
  const auto t = co_await timeout(s.env, std::chrono::seconds(1), make(s, 4));
  co_return t->value();
}
inline Task<int> operation_as_task(Script& s) {
  Channel<Tracked> channel;
  channel.push(co_await make(s, 11));
  const auto t = co_await as_task(channel.next());
  co_return t->value();
}
inline Task<int> named_before_it_is_bound(Script& s) {
  const auto pair = [](Script& script) -> Task<std::pair<Tracked, Tracked>> {
    Tracked first = co_await make(script, 1);
    Tracked second = co_await make(script, 2);
    co_return std::pair(std::move(first), std::move(second));
  };
  const auto result = co_await pair(s);
  const auto& [a, b] = result;
  co_return sum(a, b);
}

struct Form {
  const char* name;
  Task<int> (*run)(Script&);
  int result;
  friend std::ostream& operator<<(std::ostream& out, const Form& f) { return out << f.name; }
};
#define SHOAL_FORM(function, result) \
  Form { #function, &function, result }
inline const std::vector<Form> kForms = {SHOAL_FORM(named_and_moved, 7),
                                         SHOAL_FORM(temporary_argument, 5),
                                         SHOAL_FORM(initialization, 6),
                                         SHOAL_FORM(bound_to_a_reference, 6),
                                         SHOAL_FORM(assignment, 8),
                                         SHOAL_FORM(discarded, 1),
                                         SHOAL_FORM(member_of_the_result, 9),
                                         SHOAL_FORM(returned, 10),
                                         SHOAL_FORM(several_arguments, 3),
                                         SHOAL_FORM(nested_arguments, 4),
                                         SHOAL_FORM(into_a_container, 2),
                                         SHOAL_FORM(while_next, 3),
                                         SHOAL_FORM(range_for, 6),
                                         SHOAL_FORM(for_header, 1),
                                         SHOAL_FORM(if_with_initializer, 2),
                                         SHOAL_FORM(switched, 3),
                                         SHOAL_FORM(and_or, 5),
                                         SHOAL_FORM(try_and_catch, 5),
                                         SHOAL_FORM(trivial_braces, 6),
                                         SHOAL_FORM(pointers, 36),
                                         SHOAL_FORM(lambda_by_reference, 7),
                                         SHOAL_FORM(lambda_named_first, 7),
                                         SHOAL_FORM(lambda_called_with_arguments, 8),
                                         SHOAL_FORM(group, 111),
                                         SHOAL_FORM(raced, 1),
                                         SHOAL_FORM(race_result_in_place, 1),
                                         SHOAL_FORM(all_of_two, 3),
                                         SHOAL_FORM(with_timeout, 4),
                                         SHOAL_FORM(operation_as_task, 11),
                                         SHOAL_FORM(named_before_it_is_bound, 3),
                                         SHOAL_FORM(if_declares, 6),
                                         SHOAL_FORM(while_declares, 3),
                                         SHOAL_FORM(under_a_condition, 3)};
#undef SHOAL_FORM

}  // namespace shoal::forms
