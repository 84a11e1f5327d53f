import { localTime } from './time'
import { TwoLines } from './two-lines'

/** The width of the cell, in pixels. */
export const WHEN_WIDTH = 78

/** A time in a list, on two lines, because a phone has no room for one. */
export function WhenCell({ at }: { readonly at: string }) {
  const [day, time] = localTime(at).split(' ')
  return <TwoLines first={<Exact at={at} text={time} />} second={<Exact at={at} text={day} />} />
}

function Exact({ at, text }: { readonly at: string; readonly text: string | undefined }) {
  return (
    <time dateTime={at} title={at}>
      {text}
    </time>
  )
}
