const FORMAT = new Intl.NumberFormat('en', { maximumFractionDigits: 6 })

/** `1,234.5 eur`: all decimals that the amount has, and its unit. */
export function amountText(amount: number, unit: string): string {
  return `${FORMAT.format(amount)} ${unit}`
}

export function Amount({ amount, unit }: { readonly amount: number; readonly unit: string }) {
  return <span style={{ fontVariantNumeric: 'tabular-nums' }}>{amountText(amount, unit)}</span>
}
