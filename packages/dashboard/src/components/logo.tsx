import icon from '../icon.svg'

/** The sign of Countersign, beside its name. */
export function Logo() {
  return <img src={icon} width={24} height={24} alt="" />
}
