export { HttpPool } from './http.ts';
