// A process's place in its job, from the variables that each launcher sets.
#include "launch/place.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "base/error.h"

namespace shoal {
namespace {

using Variables = std::map<std::string, std::string>;
using testing::AllOf;
using testing::HasSubstr;

Place place_of(const Variables& variables) {
  return place_from_environment([&](const std::string& name) -> std::optional<std::string> {
    const auto it = variables.find(name);
    if (it == variables.end()) return std::nullopt;
    return it->second;
  });
}

std::string refusal(const Variables& variables) {
  try {
    return "accepted: " + to_json(place_of(variables));
  } catch (const ConfigError& error) {
    return error.what();
  }
}

Variables with(Variables base, const Variables& more) {
  for (const auto& [name, value] : more) base[name] = value;
  return base;
}
Variables without(Variables base, const std::string& name) {
  base.erase(name);
  return base;
}

const Variables kPlain = {
    {"RANK", "2"}, {"WORLD_SIZE", "4"}, {"MASTER_ADDR", "10.0.0.1"}, {"MASTER_PORT", "29500"}};
const Variables kOurs = {{"SHOAL_NODE", "3"},
                         {"SHOAL_WORLD_SIZE", "4"},
                         {"SHOAL_LOCAL_RANK", "1"},
                         {"SHOAL_LOCAL_WORLD_SIZE", "2"},
                         {"SHOAL_MASTER_ADDR", "10.0.0.9"},
                         {"SHOAL_MASTER_PORT", "4711"},
                         {"SHOAL_JOB", "job-1"},
                         {"SHOAL_LIFE", "2"}};
const Variables kTorchrun = with(kPlain, {{"LOCAL_RANK", "0"},
                                          {"LOCAL_WORLD_SIZE", "2"},
                                          {"TORCHELASTIC_RUN_ID", "run-7"},
                                          {"TORCHELASTIC_RESTART_COUNT", "1"}});
const Variables kOpenMpi = {{"OMPI_COMM_WORLD_RANK", "1"},
                            {"OMPI_COMM_WORLD_SIZE", "3"},
                            {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                            {"OMPI_COMM_WORLD_LOCAL_SIZE", "3"},
                            {"PMIX_RANK", "1"},
                            {"PMIX_NAMESPACE", "779681793"}};
const Variables kHydra = {{"PMI_RANK", "1"},
                          {"PMI_SIZE", "2"},
                          {"MPI_LOCALRANKID", "1"},
                          {"MPI_LOCALNRANKS", "2"},
                          {"MASTER_PORT", "5000"}};
const Variables kSlurm = {{"SLURM_PROCID", "5"},  {"SLURM_NTASKS", "8"},
                          {"SLURM_LOCALID", "1"}, {"SLURM_STEP_NODELIST", "node[03-04]"},
                          {"SLURM_NNODES", "2"},  {"SLURM_JOB_ID", "1234"},
                          {"SLURM_STEP_ID", "0"}};

TEST(Place, NothingSetIsAJobOfOne) {
  const Place place = place_of({});
  EXPECT_EQ(place, Place{});
  EXPECT_EQ(place.world, 1U);
}

TEST(Place, EachLauncherIsUnderstood) {
  struct Row {
    Variables variables;
    Place place;
  };
  const std::uint16_t mpi_port = port_of_job("779681793");
  const std::vector<Row> rows = {
      {kOurs, {3, 4, 1, 2, "10.0.0.9", 4711, "job-1", 2, "shoal launch"}},
      {kTorchrun, {2, 4, 0, 2, "10.0.0.1", 29500, "run-7", 2, "torchrun"}},
      {kOpenMpi, {1, 3, 1, 3, "127.0.0.1", mpi_port, "779681793", 1, "Open MPI"}},
      {kHydra, {1, 2, 1, 2, "127.0.0.1", 5000, "127.0.0.1-5000", 1, "PMI"}},
      {kSlurm, {5, 8, 1, 0, "node03", port_of_job("1234.0"), "1234.0", 1, "Slurm"}},
      {kPlain, {2, 4, 0, 0, "10.0.0.1", 29500, "10.0.0.1-29500", 1, "RANK and WORLD_SIZE"}},
      // srun --mpi=pmix: the size is Slurm's.
      {with(kSlurm, {{"PMIX_RANK", "5"}, {"PMIX_NAMESPACE", "slurm.pmix.1234.0"}}),
       {5, 8, 1, 0, "node03", port_of_job("slurm.pmix.1234.0"), "slurm.pmix.1234.0", 1, "PMIx"}},
      // srun --mpi=pmi2.
      {with(kSlurm, {{"PMI_RANK", "5"}, {"PMI_SIZE", "8"}}),
       {5, 8, 1, 0, "node03", port_of_job("1234.0"), "1234.0", 1, "PMI"}},
  };
  for (const Row& row : rows) {
    const Place place = place_of(row.variables);
    EXPECT_EQ(to_json(place), to_json(row.place));
  }
}

TEST(Place, OursCountsMostThenTorchrunAndWhatStartedThemMayDiffer) {
  EXPECT_EQ(place_of(with(kOurs, kOpenMpi)).rank, 3U);
  EXPECT_EQ(place_of(with(with(kOurs, kTorchrun), kSlurm)).source, "shoal launch");
  EXPECT_EQ(place_of(with(kTorchrun, kSlurm)).source, "torchrun");
  EXPECT_EQ(place_of(with(kTorchrun, kSlurm)).rank, 2U);
  EXPECT_EQ(place_of(with(kSlurm, kOpenMpi)).source, "Open MPI");
}

TEST(Place, ABatchScriptOfSlurmIsNoStep) {
  const Variables batch = {{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}, {"SLURM_JOB_ID", "5"}};
  EXPECT_EQ(place_of(batch), Place{});
}

TEST(Place, OneNodeOfSlurmIsOneHost) {
  Place place = place_of(with(kSlurm, {{"SLURM_NNODES", "1"}}));
  EXPECT_TRUE(place.one_host());
  place = place_of(with(without(kSlurm, "SLURM_STEP_NODELIST"), {{"SLURM_NNODES", "1"}}));
  EXPECT_EQ(place.master_addr, "127.0.0.1");
}

TEST(Place, TorchrunsOwnPortIsLeftToIt) {
  const Place place = place_of(with(kTorchrun, {{"TORCHELASTIC_USE_AGENT_STORE", "True"}}));
  EXPECT_NE(place.master_port, 29500);
  EXPECT_EQ(place.master_port, port_of_job("run-7:29500"));
}

TEST(Place, APortIsDerivedFromTheJobAlikeInAllRanks) {
  const Place one = place_of(kOpenMpi);
  const Place two = place_of(with(
      kOpenMpi,
      {{"OMPI_COMM_WORLD_RANK", "2"}, {"OMPI_COMM_WORLD_LOCAL_RANK", "2"}, {"PMIX_RANK", "2"}}));
  EXPECT_EQ(one.master_port, two.master_port);
  for (int i = 0; i < 1000; ++i) {
    const std::uint16_t port = port_of_job(std::to_string(i));
    ASSERT_GE(port, 20000);
    ASSERT_LE(port, 29999);
  }
}

TEST(Place, WhatIsGivenCountsMoreThanWhatIsDerived) {
  const Place place =
      place_of(with(kOpenMpi, {{"MASTER_ADDR", "10.1.1.1"}, {"MASTER_PORT", "6000"}}));
  EXPECT_EQ(place.master_addr, "10.1.1.1");
  EXPECT_EQ(place.master_port, 6000);
}

TEST(Place, ContradictionsNameVariablesAndValues) {
  EXPECT_THAT(refusal(with(kPlain, {{"RANK", "4"}})),
              AllOf(HasSubstr("RANK=4"), HasSubstr("WORLD_SIZE=4")));
  EXPECT_THAT(refusal(with(kPlain, {{"RANK", "two"}})), HasSubstr("RANK=two"));
  EXPECT_THAT(refusal(with(kPlain, {{"RANK", "-1"}})), HasSubstr("RANK=-1"));
  EXPECT_THAT(refusal(with(kPlain, {{"RANK", "2 "}})), HasSubstr("RANK=2 "));
  EXPECT_THAT(refusal(with(kPlain, {{"MASTER_PORT", "70000"}})), HasSubstr("MASTER_PORT=70000"));
  EXPECT_THAT(refusal(with(kPlain, {{"MASTER_PORT", "0"}})), HasSubstr("MASTER_PORT=0"));
  EXPECT_THAT(
      refusal({{"RANK", "1"}, {"OMPI_COMM_WORLD_RANK", "2"}, {"OMPI_COMM_WORLD_SIZE", "3"}}),
      AllOf(HasSubstr("RANK=1"), HasSubstr("OMPI_COMM_WORLD_RANK=2")));
  EXPECT_THAT(refusal(with(kOpenMpi, {{"RANK", "1"}, {"WORLD_SIZE", "9"}})),
              AllOf(HasSubstr("OMPI_COMM_WORLD_SIZE=3"), HasSubstr("WORLD_SIZE=9")));
  EXPECT_THAT(refusal(with(kOpenMpi, {{"PMIX_RANK", "0"}})),
              AllOf(HasSubstr("OMPI_COMM_WORLD_RANK=1"), HasSubstr("PMIX_RANK=0")));
  EXPECT_THAT(refusal(with(kSlurm, {{"RANK", "1"}, {"WORLD_SIZE", "8"}})),
              AllOf(HasSubstr("SLURM_PROCID=5"), HasSubstr("RANK=1")));
  EXPECT_THAT(refusal(with(kOurs, {{"SHOAL_LOCAL_RANK", "2"}})),
              AllOf(HasSubstr("SHOAL_LOCAL_RANK=2"), HasSubstr("SHOAL_LOCAL_WORLD_SIZE=2")));
  EXPECT_THAT(refusal(with(kOurs, {{"SHOAL_LOCAL_WORLD_SIZE", "9"}})),
              AllOf(HasSubstr("SHOAL_LOCAL_WORLD_SIZE=9"), HasSubstr("SHOAL_WORLD_SIZE=4")));
}

TEST(Place, WhatIsMissingIsNamed) {
  EXPECT_THAT(refusal(without(kPlain, "WORLD_SIZE")), HasSubstr("WORLD_SIZE is not set"));
  EXPECT_THAT(refusal({{"WORLD_SIZE", "4"}}), HasSubstr("RANK is not set"));
  EXPECT_THAT(refusal(without(kPlain, "MASTER_ADDR")), HasSubstr("MASTER_ADDR"));
  EXPECT_THAT(refusal(without(kPlain, "MASTER_PORT")), HasSubstr("MASTER_PORT"));
  EXPECT_THAT(refusal(without(kTorchrun, "RANK")), HasSubstr("RANK is not set"));
  EXPECT_THAT(refusal(without(kOurs, "SHOAL_WORLD_SIZE")), HasSubstr("SHOAL_WORLD_SIZE"));
  EXPECT_THAT(refusal({{"PMIX_RANK", "0"}}), HasSubstr("SLURM_NTASKS"));
  // On several hosts, mpirun does not say where rank 0 is.
  EXPECT_THAT(refusal(with(kOpenMpi, {{"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}})),
              HasSubstr("MASTER_ADDR"));
}

TEST(Place, AnEmptyVariableIsAsGoodAsNone) { EXPECT_EQ(place_of({{"RANK", ""}}), Place{}); }

TEST(Place, OneOfOneNeedsNobodyToFindIt) {
  const Place place = place_of({{"RANK", "0"}, {"WORLD_SIZE", "1"}});
  EXPECT_EQ(place.master_addr, "127.0.0.1");
  EXPECT_EQ(place.world, 1U);
}

TEST(Place, JsonQuotesWhatTheEnvironmentHolds) {
  Place place;
  place.job = "a\"b\\c\n";
  EXPECT_THAT(to_json(place), HasSubstr(R"("job":"a\"b\\c\u000a")"));
}

TEST(FirstHost, OfAListOfSlurm) {
  EXPECT_EQ(first_host("node7"), "node7");
  EXPECT_EQ(first_host("node[03-07,12]"), "node03");
  EXPECT_EQ(first_host("node[12]"), "node12");
  EXPECT_EQ(first_host("node[12,3]-ib"), "node12-ib");
  EXPECT_EQ(first_host("login,node[1-2]"), "login");
  EXPECT_EQ(first_host("rack[2-3]n[04-05],x"), "rack2n04");
}

TEST(FirstHost, NonsenseIsRefusedAndQuoted) {
  for (const char* list : {"", ",a", "node[", "node]", "node[a]", "node[]", "node[-3]"}) {
    try {
      ADD_FAILURE() << list << " gave " << first_host(list);
    } catch (const ConfigError& error) {
      EXPECT_THAT(error.what(), HasSubstr(std::string("'") + list + "'"));
    }
  }
}

}  // namespace
}  // namespace shoal
