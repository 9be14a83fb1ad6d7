# Prints the table that lkp-tests makes of the rows on standard input: ruby lkp_oracle.rb CHECKOUT.
# Input: {"columns": [text], "runs": [number], "rows": {name: [[value by run] by column]}}; output:
# the names that count as changed, as JSON in one line, and the table of all rows.
require 'json'
require 'set'

LKP_SRC = ARGV.fetch(0)
OWN = %w[statistics stats compare changed_stat bounds].map { |name| "#{LKP_SRC}/lib/#{name}" }
# What the tables need of the rest of lkp-tests and of ActiveSupport, which is not loaded.
module Kernel
  alias really_require require
  def require(name)
    skip = name.start_with?('active_support') || (name.start_with?(LKP_SRC) && !OWN.include?(name))
    skip || name == 'yaml' ? true : really_require(name)
  end

  def load_yaml(_) = {}
  def test_prefixes = []
  def axis_format(key, value) = [key, value]
end
module Enumerable
  def many? = size > 1
end
class Module
  def prop_with(*) = nil
  def prop_reader(*names) = attr_reader(*names)
end
module Property; end
module YAML
  def self.load_file(_) = {}
end
module LKP
  module Programs
    def self.all_tests_set = Set['work']
    def self.all_stats = []
    def self.all_tests_and_daemons = []
  end
  class Path
    def self.src(*parts) = File.join(LKP_SRC, *parts)
  end
end
require "#{LKP_SRC}/lib/compare"

Comparer = Struct.new(:compact_show, :show_empty_group)
Group = Struct.new(:axes, :compare_axeses, :mresult_roots, :comparer)
given = JSON.parse($stdin.read)
columns = given['columns']
changed = given['rows'].select do |name, values|
  values.drop(1).any? do |other|
    matrices = [other, values[0]].map { |runs| { name => runs.dup, 'stats_source' => runs.dup } }
    compare = StatCompare.new(name, *matrices, nil, {})
    a, b = compare.send(:calculate_matrix_values)
    a && compare.send(:changed_stats?, a, b)
  end
end
stats = given['rows'].map do |name, values|
  stat = { Compare::STAT_KEY => name, Compare::FAILURE => function_stat?(name),
           Compare::VALUES => values, Compare::RUNS => given['runs'] }
  Compare.calc_stat_change stat
  stat
end
axes = columns.map { |column| { 'kernel' => column } }
group = Group.new({ 'collector' => 'exact' }, axes, columns, Comparer.new(false, false))
puts JSON.generate(changed.keys)
Compare.show_group(group, Compare.sort_stats(stats))
