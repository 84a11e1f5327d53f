import type { RunningServer } from './running-server.js'

/** The metrics of a server, as Prometheus reads them. */
export async function scrape({ url }: Pick<RunningServer, 'url'>): Promise<string> {
  return (await fetch(`${url}/metrics`)).text()
}

/** The value of a series, which is written as on its line; undefined while it has no sample. */
export function sampleIn(text: string, series: string): number | undefined {
  const line = text.split('\n').find((one) => one.startsWith(`${series} `))
  return line === undefined ? undefined : Number(line.slice(series.length + 1))
}
