import type { LoginProvider } from '../../config/login-providers.ts';
import { markOf, type ProviderView } from './pages/provider-buttons.ts';

export function toProviderView({ id, name, issuer }: LoginProvider): ProviderView {
  return { id, name, mark: markOf(issuer) };
}
