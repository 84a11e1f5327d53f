/** Times as people read them, with the exact one at hand. */
import { useEffect, useState } from 'react'

const RELATIVE = new Intl.RelativeTimeFormat('en', { numeric: 'auto' })
const UNITS = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
  ['second', 1],
] as const

/** `3 minutes ago`, `in 2 hours`. */
function relativeTime(at: string, nowMs = Date.now()): string {
  const seconds = (Date.parse(at) - nowMs) / 1000
  const [unit, size] = UNITS.find(([, length]) => Math.abs(seconds) >= length) ?? (['second', 1] as const)
  return RELATIVE.format(Math.trunc(seconds / size), unit)
}

/** `2026-11-21 10:00:00` in the time of the browser. */
export function localTime(at: string): string {
  const date = new Date(at)
  const two = (value: number) => String(value).padStart(2, '0')
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`
}

/** A moment, relative to now. Its title is the exact one. */
export function Ago({ at }: { readonly at: string }) {
  // What has just been read is newer than the last renewal.
  const now = Math.max(useNow(), Date.now())
  return (
    <time dateTime={at} title={at}>
      {relativeTime(at, now)}
    </time>
  )
}

/** A moment as the clock of the browser shows it. */
export function At({ at }: { readonly at: string }) {
  return (
    <time dateTime={at} title={at}>
      {localTime(at)}
    </time>
  )
}

/** The present time, renewed while a page shows it. */
export function useNow(everyMs = 10_000): number {
  const [now, setNow] = useState(() => Date.now())
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), everyMs)
    return () => clearInterval(timer)
  }, [everyMs])
  return now
}
