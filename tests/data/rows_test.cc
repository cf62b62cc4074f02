// Tables and sparse rows: the meaning of valid lines, and every kind of invalid line.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "support/dataset_bytes.h"

namespace shoal {
namespace {

using testing::ElementsAre;
using testing::FloatNear;
using testing::HasSubstr;

Dataset opened(const std::string& text, const std::string& spec = "csv:t.csv",
               double test_fraction = 0) {
  MemoryFiles files;
  files["t.csv"] = text;
  DatasetOptions options;
  options.test_fraction = test_fraction;
  return open_dataset(spec, options, files.opener());
}

std::string refusal(const std::string& text, const std::string& spec = "csv:t.csv") {
  try {
    const Dataset dataset = opened(text, spec);
  } catch (const DataError& e) {
    return e.what();
  } catch (const ConfigError& e) {
    return std::string("config: ") + e.what();
  }
  return "opened";
}

Batch all_of(const BatchSource& source) {
  std::vector<SampleId> samples(source.size());
  std::iota(samples.begin(), samples.end(), SampleId{0});
  Batch batch;
  source.fill(0, samples, batch);
  return batch;
}

TEST(Csv, ColumnsAreStandardizedAndIntegerLabelsAreClasses) {
  const Dataset dataset = opened("a,b,label\n1,10,3\n2, 20 ,5\r\n\n3,+30,3\n4,4e1,9");
  EXPECT_EQ(dataset.train->shape(), (SampleShape{InputKind::Dense, {2}, TargetKind::Classes, 3}));
  EXPECT_EQ(dataset.test, nullptr);
  EXPECT_THAT(dataset.class_names, ElementsAre("3", "5", "9"));
  const Batch batch = all_of(*dataset.train);
  EXPECT_THAT(batch.labels, ElementsAre(0, 1, 0, 2));
  // 1 2 3 4: mean 2.5, standard deviation sqrt(1.25); the second column is ten times as large.
  for (int i = 0; i < 4; ++i) {
    EXPECT_NEAR(batch.dense[2 * i], (i + 1 - 2.5) / std::sqrt(1.25), 1e-6);
    EXPECT_NEAR(batch.dense[2 * i + 1], (i + 1 - 2.5) / std::sqrt(1.25), 1e-6);
  }
}

TEST(Csv, WordsAreClassesInSortedOrderWithOrWithoutAHeader) {
  const std::string rows = "1,2,virginica\n2,2,\"setosa\"\n3,2,virginica\n";
  for (const std::string& text : {rows, "\xEF\xBB\xBFx,y,kind\n" + rows}) {
    const Dataset dataset = opened(text);
    EXPECT_THAT(dataset.class_names, ElementsAre("setosa", "virginica"));
    const Batch batch = all_of(*dataset.train);
    EXPECT_THAT(batch.labels, ElementsAre(1, 0, 1));
    EXPECT_EQ(batch.dense[1], 0) << "a column that never changes becomes 0";
  }
}

TEST(Csv, TheLabelIsFoundByNameOrByNumber) {
  const std::string text = "kind,x\n0,5\n1,6\n0,7\n";
  for (const char* spec : {"csv:t.csv:label=kind", "csv:t.csv:label=1"}) {
    const Dataset dataset = opened(text, spec);
    EXPECT_EQ(dataset.train->size(), 3U);
    EXPECT_THAT(all_of(*dataset.train).labels, ElementsAre(0, 1, 0));
  }
  EXPECT_EQ(refusal(text, "csv:t.csv:label=kinb"),
            "config: t.csv has no column 'kinb'. Did you mean 'kind'?");
  EXPECT_EQ(refusal(text, "csv:t.csv:label=3"),
            "config: t.csv has no column 3: they are counted from 1 to 2");
  EXPECT_EQ(refusal(text, "csv:t.csv:lable=kind"),
            "config: csv has no option 'lable'. Did you mean 'label'?");
}

TEST(Csv, OtherNumbersAreValuesToApproximate) {
  const Dataset dataset = opened("1,0.5\n2,1.5\n3,2.5\n");
  EXPECT_EQ(dataset.train->shape(), (SampleShape{InputKind::Dense, {1}, TargetKind::Values, 1}));
  const float unit = std::sqrt(1.5F);
  EXPECT_THAT(all_of(*dataset.train).values,
              ElementsAre(FloatNear(-unit, 1e-6F), FloatNear(0, 1e-6F), FloatNear(unit, 1e-6F)));
  EXPECT_THAT(dataset.name, HasSubstr("values standardized (mean 1.5, deviation 0.816497)"));
  // Whole numbers are classes unless the user says otherwise.
  EXPECT_EQ(opened("1,5\n2,6\n", "csv:t.csv:target=values").train->shape().target,
            TargetKind::Values);
  EXPECT_EQ(refusal("1,0.5\n2,1.5\n", "csv:t.csv:target=classes"),
            "t.csv column 2: the labels are not integers, so they cannot be classes");
  EXPECT_THAT(refusal("1,0\n", "csv:t.csv:target=valeus"), HasSubstr("target is 'valeus'"));
  std::string prices;
  for (int i = 0; i < 1200; ++i) prices += fmt::format("1,{}\n", 1000 + i);
  EXPECT_THAT(refusal(prices), HasSubstr("1200 different integers. If they are values"));
}

TEST(Csv, ARowIsHeldOutByItsNumberAndTheSeedAlone) {
  std::string text;
  for (int i = 0; i < 2000; ++i) text += fmt::format("{},{}\n", i, i % 2);
  const Dataset dataset = opened(text, "csv:t.csv", 0.1);
  EXPECT_EQ(dataset.train->size() + dataset.test->size(), 2000U);
  EXPECT_NEAR(static_cast<double>(dataset.test->size()), 200, 45);  // 3.3 deviations
  EXPECT_EQ(all_of(*dataset.test).dense, all_of(*opened(text, "csv:t.csv", 0.1).test).dense);
  // Appended rows do not change earlier ones, except for the scale.
  const Dataset longer = opened(text + "5,1\n6,1\n", "csv:t.csv", 0.1);
  const auto labels = all_of(*dataset.test).labels, more = all_of(*longer.test).labels;
  EXPECT_TRUE(std::equal(labels.begin(), labels.end(), more.begin()));
}

TEST(Csv, WhatCannotBeReadIsNamedWithLineColumnAndText) {
  EXPECT_EQ(refusal("a,b\n1,0\nx1,1\n"), "t.csv line 3, column 1 (a): 'x1' is not a number");
  EXPECT_EQ(refusal("1,2,0\n1,nan,1\n"), "t.csv line 2, column 2: 'nan' cannot be learned from");
  EXPECT_EQ(refusal("1,2,0\n\n1,-inf,1\n"),
            "t.csv line 3, column 2: '-inf' cannot be learned from");
  EXPECT_EQ(refusal("1,0\n1e39,1\n"),
            "t.csv line 2, column 1: '1e39' does not fit a 32-bit number");
  EXPECT_EQ(refusal("1,0\n,1\n"), "t.csv line 2, column 1: '' is not a number");
  EXPECT_EQ(refusal("1,0\n2,\n"), "t.csv line 2, column 2: there is no label");
  EXPECT_EQ(refusal("1,0\n2,x\n"), "t.csv line 2, column 2: label 'x' is not a number");
  EXPECT_EQ(refusal("1,0\n2,nan\n"), "t.csv line 2, column 2: label 'nan' cannot be learned from");
  EXPECT_EQ(refusal("1,2,0\n1,2\n"), "t.csv line 2: 2 columns, but the first row has 3");
  EXPECT_EQ(refusal("1,2,0\n1,2,3,4\n"), "t.csv line 2: more columns than the 3 of the first row");
  EXPECT_EQ(refusal("1,\"a\n2,b\n"),
            "t.csv line 1, column 2: a quote is not closed, or text follows it");
  EXPECT_EQ(refusal(std::string("1,0\n\x01\xff") + std::string(50, 'y') + ",1\n"),
            "t.csv line 2, column 1: '\\x01\\xff" + std::string(38, 'y') + "...' is not a number");
}

TEST(Csv, WhatIsNoTableIsRefused) {
  EXPECT_EQ(refusal("\n \n"), "t.csv has no rows");
  EXPECT_EQ(refusal("a,b\n"), "t.csv has 0 rows of data, too few to train and to test");
  EXPECT_THAT(refusal("1;2;0\n"), HasSubstr("'1;2;0' has one column; commas must separate"));
  EXPECT_THAT(refusal("1,0\n2,0\n"), HasSubstr("all labels are the same: nothing to learn"));
  EXPECT_EQ(refusal("", "csv:none.csv"), "none.csv: there is no such file");
  EXPECT_THROW(opened("1,0\n", "csv:t.csv", 0.1), DataError);  // one row cannot do both
}

TEST(Libsvm, RowsAreSparseAndIndicesBeginAtZero) {
  const Dataset dataset =
      opened("+1 1:0.5 4:-2 # first\n# a remark\n-1\n-1 2:1e-1 3:7\n", "libsvm:t.csv");
  EXPECT_EQ(dataset.train->shape(), (SampleShape{InputKind::Sparse, {4}, TargetKind::Classes, 2}));
  const Batch batch = all_of(*dataset.train);
  EXPECT_THAT(batch.offsets, ElementsAre(0, 2, 2, 4));
  EXPECT_THAT(batch.indices, ElementsAre(0, 3, 1, 2));
  EXPECT_THAT(batch.weights, ElementsAre(0.5F, -2.0F, 0.1F, 7.0F));
  EXPECT_THAT(batch.labels, ElementsAre(1, 0, 0));
  EXPECT_THAT(dataset.class_names, ElementsAre("-1", "1"));
  EXPECT_EQ(opened("0.5 1:1\n2 1:2\n", "libsvm:t.csv").train->shape().target, TargetKind::Values);
}

TEST(Libsvm, WhatCannotBeReadIsNamedWithItsLine) {
  const auto refused = [](const std::string& text) { return refusal(text, "libsvm:t.csv"); };
  EXPECT_EQ(refused("1 2:1\n0 3:1 3:2\n"), "t.csv line 2: index 3 after 3: they must ascend");
  EXPECT_EQ(refused("1 0:1\n"), "t.csv line 1: index '0' is not an integer from 1 to 2147483648");
  EXPECT_EQ(refused("1 -1:1\n"), "t.csv line 1: index '-1' is not an integer from 1 to 2147483648");
  EXPECT_THAT(refused("1 99999999999999999999:1\n"), HasSubstr("is not an integer from 1"));
  EXPECT_EQ(refused("1 7\n"), "t.csv line 1: '7' does not have the form index:value");
  EXPECT_EQ(refused("1 7:x\n"), "t.csv line 1, index 7: 'x' is not a number");
  EXPECT_EQ(refused("1 7:nan\n"), "t.csv line 1, index 7: 'nan' cannot be learned from");
  EXPECT_EQ(refused("spam 7:1\n"), "t.csv line 1: label 'spam' is not a number");
  EXPECT_EQ(refused("1\n0\n"), "t.csv has no index:value pairs at all");
}

}  // namespace
}  // namespace shoal
