topic common
title Queueing a block for the common modes makes the pseudo mode appear among all modes
flags quirk
block B
modes
perform B common
modes
--- golden
modes = default
modes = common,default
end
