import FoundationEssentials
import Measuring

/// Pictures as SVG, and as PNG where a converter is installed: one per workload, one of all, one per growth.
enum Plots {
  static func write(_ summary: Summary, isGrowth: Bool, to folder: String) throws {
    do {
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      if isGrowth {
        for growth in Growth.all {
          if let chart = GrowthChart(growth, summary) { try save(chart.svg, "\(folder)/growth-\(growth.name)") }
        }
        return
      }
      for workload in summary.workloads where workload.metric != .moves {
        try save(BarChart(workload, summary).svg, "\(folder)/\(workload.fileName)")
      }
      try save(OverviewChart(summary).svg, "\(folder)/overview")
    } catch {
      throw Failure("--plot: cannot write to \(folder): \(error)")
    }
  }

  private static func save(_ svg: String, _ path: String) throws {
    try Data(svg.utf8).write(to: URL(filePath: "\(path).svg"))
    let converters = [
      ["rsvg-convert", "--zoom=2", "--output=\(path).png", "\(path).svg"],
      ["inkscape", "--export-dpi=192", "--export-filename=\(path).png", "\(path).svg"],
      ["magick", "-density", "192", "\(path).svg", "\(path).png"],
      ["convert", "-density", "192", "\(path).svg", "\(path).png"],
    ]
    _ = converters.first { Child.run($0, timeout: 30).status == 0 }
  }
}
