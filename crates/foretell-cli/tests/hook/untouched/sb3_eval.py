import argparse, gymnasium as gym
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import EvalCallback
p = argparse.ArgumentParser(); p.add_argument("--lr", type=float, default=1e-3); p.add_argument("--total-timesteps", type=int, default=1024); a = p.parse_args()
class T(EvalCallback):
    def _on_step(s):
        before = len(s.evaluations_results); r = super()._on_step()
        if len(s.evaluations_results) > before: truth(v=float(s.last_mean_reward))
        return r
env, ev = gym.make("CartPole-v1"), gym.make("CartPole-v1")
PPO("MlpPolicy", env, learning_rate=a.lr, n_steps=128, seed=0, device="cpu").learn(a.total_timesteps, callback=T(ev, eval_freq=256, n_eval_episodes=3, verbose=1))
