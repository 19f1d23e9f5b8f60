"""What is measured: each figure is its meaning and its formula on one screen."""
