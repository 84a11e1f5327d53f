/** Times in words, each with the exact time as its title. */
import { useEffect, useState } from 'react'

const RELATIVE = new Intl.RelativeTimeFormat('en', { numeric: 'auto' })
const UNITS = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
  ['second', 1],
] as const

/** Writes `3 minutes ago` or `in 2 hours`. */
function relativeTime(at: string, nowMs = Date.now()): string {
  const seconds = (Date.parse(at) - nowMs) / 1000
  const [unit, size] = UNITS.find(([, length]) => Math.abs(seconds) >= length) ?? (['second', 1] as const)
  return RELATIVE.format(Math.trunc(seconds / size), unit)
}

/** Writes `2026-11-21 10:00:00` in the browser's time zone. */
export function localTime(at: string): string {
  const date = new Date(at)
  const two = (value: number) => String(value).padStart(2, '0')
  const day = `${String(date.getFullYear()).padStart(4, '0')}-${two(date.getMonth() + 1)}-${two(date.getDate())}`
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`
}

/** A time relative to now. */
export function Ago({ at }: { readonly at: string }) {
  // A time that has just been read may be newer than the last tick.
  const now = Math.max(useNow(), Date.now())
  return (
    <time dateTime={at} title={at}>
      {relativeTime(at, now)}
    </time>
  )
}

/** A time in the browser's time zone. */
export function At({ at }: { readonly at: string }) {
  return (
    <time dateTime={at} title={at}>
      {localTime(at)}
    </time>
  )
}

/** Returns the current time, and updates it while the component is mounted. */
export function useNow(everyMs = 10_000): number {
  const [now, setNow] = useState(() => Date.now())
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), everyMs)
    return () => clearInterval(timer)
  }, [everyMs])
  return now
}
