topic modes
title Any non-empty name will do
source0 S
add S com.example.my-mode
run com.example.my-mode 0.02 no
modes
--- golden
run com.example.my-mode
ran com.example.my-mode TIMEDOUT
modes = com.example.my-mode,default
end
